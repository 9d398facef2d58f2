import { getTableName } from 'drizzle-orm'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import { checkRow } from '../../src/commands/decide.ts'
import {
  type Children,
  exceedsMoveLimit,
  maxMoved,
  noChildren,
  splitForEvents,
  withChildren,
} from '../../src/log/rows.ts'
import { noClaim } from '../../src/model/claims.ts'
import type { FactKind } from '../../src/model/definition.ts'
import type { EventType } from '../../src/model/entities.ts'
import { created, deleted, diff, type EventDraft, updated } from '../../src/model/events.ts'
import { model, textLengthSql } from '../../src/model/model.ts'
import { editReferences, movedReferences } from '../../src/model/references.ts'
import { columnList } from '../../src/postgres/columns.ts'
import { conflict } from '../../src/responses/errors.ts'
import { timesOf, rowFieldsOf, requireAssignable } from './fields.ts'
import { releaseDependents } from './blockers.ts'
import { type TaskChange, userFields } from './schema.ts'

/** The children of a moving task. If too many exist, loads one more than may move, so that the rule rejects the move. */
export const movingChildren: FactKind<{ children: Children }, string> = {
  create: () => ({ children: noChildren() }),
  async load(sql, _, { children }, [taskId]) {
    const lists = model().ofTask.map(async ({ name, table }) => {
      const rows = await sql<{ before: number }[]>`
        select * from (
          select *, coalesce(sum(${sql.unsafe(textLengthSql(name, 'char_length'))}) over (rows between unbounded preceding and 1 preceding), 0)::int4
            as before
          from (select ${columnList(sql, table, 't')} from ${sql(getTableName(table))} t where task_id = ${taskId!}
            order by id, created_at limit ${maxMoved.rows + 1}) r) r
        where before <= ${maxMoved.characters}`
      children[name] = rows.map(({ before: _, ...row }) => row) as never
    })
    await Promise.all(lists)
  },
}

/** The task loses its assignee, and other users in its fields, who are not members of the target project. */
export function move(
  source: ProjectState,
  target: ProjectState,
  context: RuleContext,
  task: TaskRow,
  input: TaskChange,
) {
  const { children } = source.fact(movingChildren)
  if (exceedsMoveLimit(children)) throw tooManyToMove()
  // The last event gets the command's id, because the response shows the row of the last event.
  const newIds = { newEventId: () => context.newId() }
  const { row, copies, after } = moveReferences(source, target, task, input, context)
  const wanted = rowFieldsOf(editReferences(after, 'task', row, input), after, row.fields)
  requireAssignable(target, wanted)
  const { eventId: _, ...kept } = task.claimedBy ? { ...task, ...noClaim } : task
  const { projectId, lastNumber } = target
  const moved = {
    ...{ ...kept, ...row, ...wanted, ...timesOf(diff(task, wanted) ?? {}, context.now, task) },
    ...{ projectId, number: lastNumber + 1, updatedAt: context.now },
    ...(task.position != null && { position: null }),
  }
  for (const name of userFields as 'assigneeId'[])
    if (moved[name] && !target.roleOf(moved[name])) moved[name] = null
  const [first, ...more] = splitForEvents(children)
  const released = releaseDependents(source, newIds, context.now, task.id)
  const departure = deleted(source, newIds, 'task.moved_out', task)
  const arrival = created(target, more.length > 0 ? newIds : context, 'task.moved_in', moved)
  let last = arrival.after
  const laterArrivals = more.map((part, i) => {
    const isLast = i === more.length - 1
    const change = updated(target, isLast ? context : newIds, 'task.moved_in', last, {})
    last = change.after
    return withChildren(change, part)
  })
  const arrivals = [...copies, withChildren(arrival, first!), ...laterArrivals]
  return { changes: [...released, departure, ...arrivals], answer: last }
}

/** Copies the rows that the task refers to and that the target project lacks, such as labels. */
function moveReferences(
  source: ProjectState,
  target: ProjectState,
  task: TaskRow,
  input: TaskChange,
  context: RuleContext,
) {
  const copies: EventDraft[] = []
  const after = target.fork()
  const row = movedReferences(
    'task',
    { ...task, ...input, fields: task.fields },
    source,
    after,
    (to, fields) => {
      const id = context.newId()
      const type = `${to}.created` as EventType
      const own = { ...fields, id, projectId: target.projectId, createdAt: context.now }
      const copy = created(target, { newEventId: () => context.newId() }, type, own as never) as EventDraft
      checkRow(after, copy)
      after.apply(copy)
      copies.push(copy)
      return id
    },
  )
  return { row, copies, after }
}

export function tooManyToMove() {
  const limits = `${maxMoved.rows} subtasks and comments, or ${maxMoved.characters} characters in them,`
  return conflict(`A task with more than ${limits} cannot move to another project`)
}
