import { isRespacingSql, isOfLaterEntity } from '../../drizzle/schema/log.ts'
import type { Entity, ChildOfTask, Rows } from '../model/entities.ts'
import { isRespacing, observedType } from '../model/events.ts'
import { personIdOf, definitionOf, model } from '../model/model.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields } from '../postgres/columns.ts'
import { type OldestSeq } from '../reads/retention.ts'
import type { FindPerson } from '../reads/people.ts'
import { eventsExpired, notFound } from '../responses/errors.ts'
import { childEntries } from './rows.ts'
import {
  maxUndoneRows,
  maxUndoneEvents,
  readBounded,
  tooManyUndone,
  undoTooLarge,
  type UndoSelection,
  type LoggedEvent,
  type UndoInput,
  type UndoCaller,
  type ReadUndoInput,
  UndoConflict,
  type Respacing,
  type Unassignment,
} from './undo-input.ts'
import { readDeletedChildren } from './logged-children.ts'
import { getTableName } from 'drizzle-orm'
import type { MemberRow } from '../../drizzle/rows.ts'
import { positionKey } from '../../drizzle/schema/tasks.ts'

/** The approximate length of a row's keys and ids in JSON. The size limit of an undo does not count them. */
const uncountedCharacters = 1_000

/** Checks the caller's rights before it reads other data. */
export function openReadUndoInput(sql: Sql, oldestSeq: OldestSeq, findPerson: FindPerson): ReadUndoInput {
  return async (at, selection) => {
    const events = await readSelectedEvents(sql, oldestSeq, at, selection)
    selection.authorize(at, events)
    const of = (type: string) => events.filter((event) => event.type === type)
    const deletions = events.filter(({ after }) => !after)
    const [respacings, children, deletedAgain, unassignments] = await Promise.all([
      readRespacings(sql, events),
      readDeletedChildren(sql, of('task.deleted')),
      readDeletedAgain(sql, deletions, events),
      readUnassignments(sql, of('member.removed')),
    ])
    if (children === 'expired') {
      const oldest = (await oldestSeq(at.projectId)) ?? events[0]!.seq
      throw oldest > 1 ? eventsExpired(oldest) : undoTooLarge()
    }
    const remainingChildren = await readRemainingChildren(sql, of('task.created'), { events, children })
    const ids = accountsIn(events, children)
    const people = await Promise.all(ids.map((key) => findPerson({ by: 'id', key })))
    const byId = new Map(people.flatMap((person) => (person ? [[person.id, person]] : [])))
    return { events, children, deletedAgain, remainingChildren, unassignments, respacings, people: byId }
  }
}

/** Leaves out the children of a moved task, because a move cannot be undone. @throws HttpError 404, 409, 410 */
async function readSelectedEvents(
  sql: Sql,
  oldestSeq: OldestSeq,
  { projectId, version }: UndoCaller,
  { seqs = [], batch }: UndoSelection,
): Promise<LoggedEvent[]> {
  const maxEvents = maxUndoneEvents + maxUndoneRows
  const which =
    batch === undefined
      ? sql`e.seq = any(${seqs}::bigint[])`
      : sql`(e.seq = ${batch} and e.batch is null
        or ${isOfBatch(sql, projectId, batch)} and (e.seq = ${batch} or not (${sql.unsafe(isRespacingSql('e'))})))`
  const found = sql`
    select r.*, ${characters(sql, 'before')} + ${characters(sql, 'after')} as characters from (
      select ${eventFields(sql)}, e.before, case when e.type <> 'task.moved_in' then e.after end as after from events e
      where e.project_id = ${projectId} and e.seq <= ${version} and ${which} order by e.seq limit ${maxEvents + 1}) r`
  const { rows, isTooMuch } = await readBounded<LoggedEvent>(sql, found, maxEvents)
  const events = withoutRestoredChildren(rows).filter((event) => !isRespacing(event))
  if (events.length > maxUndoneEvents) throw tooManyUndone()
  if (isTooMuch) throw undoTooLarge()
  const foundSeqs = new Set(rows.map(({ seq }) => seq))
  const missing = (batch === undefined ? seqs : [batch]).find((seq) => !foundSeqs.has(seq))
  if (missing === undefined) return events.sort((a, b) => b.seq - a.seq)
  const oldest = await oldestSeq(projectId)
  if (oldest !== undefined && missing < oldest && missing <= version) throw eventsExpired(oldest)
  throw notFound(batch === undefined ? `Event ${missing}` : `Batch ${missing}`)
}

/** SQL for the events `e` of a batch. It ends directly before an event of another batch. */
export const isOfBatch = (sql: Sql, projectId: string, batch: number) => sql`
  e.seq >= ${batch} and e.seq < coalesce((
    select o.seq from events o where o.project_id = ${projectId} and o.seq >= ${batch} and o.batch is distinct from ${batch}
    order by o.seq limit 1), ${Number.MAX_SAFE_INTEGER}::bigint)`

const characters = (sql: Sql, row: 'before' | 'after') =>
  sql`greatest(coalesce(char_length(${sql(row)}::text), 0) - ${uncountedCharacters}, 0)`

/**
 * Removes the events that restored children together with their task: undoing the task's event deletes the children.
 * Keeps these events if the undo also reverses another deletion of the task, which restores other children.
 */
function withoutRestoredChildren(events: LoggedEvent[]): LoggedEvent[] {
  const keyOf = ({ taskId, undoes }: LoggedEvent) => `${taskId} ${undoes}`
  const isRestored = (event: LoggedEvent) => event.undoes != null && !event.before
  const tasks = events.filter((event) => event.entity === 'task' && isRestored(event))
  if (tasks.length === 0) return events
  const restoredTasks = new Set(tasks.filter((task) => !isRestoredByOtherUndo(task, events)).map(keyOf))
  const byEntity = Map.groupBy(events, (event) => event.entityId)
  const isChildOfRestored = (event: LoggedEvent) =>
    event.entity !== 'task' &&
    isRestored(event) &&
    restoredTasks.has(keyOf(event)) &&
    byEntity.get(event.entityId)!.length === 1
  return events.filter((event) => !isChildOfRestored(event))
}

function accountsIn(events: LoggedEvent[], children: UndoInput['children']): string[] {
  const rows = events.flatMap(({ entity, before, after }) =>
    [before, after].map((row): [Entity, object | null] => [entity, row]),
  )
  const childRows = [...children.values()].flatMap(childEntries)
  const ids = [...rows, ...childRows].flatMap(([entity, row]) => (row && personIdOf(entity, row)) || [])
  return [...new Set(ids)]
}

/** Reads a deleted task's children from the log, because a worker may have removed their rows. @throws HttpError 409 */
export async function readRemainingChildren(
  sql: Sql,
  tasks: LoggedEvent[],
  { events, children }: Pick<UndoInput, 'events' | 'children'>,
): Promise<UndoInput['remainingChildren']> {
  if (tasks.length === 0) return []
  const currentRows = model().ofTask.map(
    ({ name, table }) =>
      `select '${name}' as entity, id, event_id from ${getTableName(table)} where task_id = t.id union all`,
  )
  const restored = tasks.flatMap((task) => childrenRestoredTo(task, events, children))
  const remaining = await sql<UndoInput['remainingChildren'][number][]>`
    with restored as (select * from unnest(${restored.map(({ seq }) => seq)}::bigint[], ${restored.map(({ entity }) => entity)}::text[],
      ${restored.map(({ id }) => id)}::uuid[], ${restored.map(({ eventId }) => eventId)}::uuid[]) b(seq, entity, id, event_id))
    select q.task_id, c.entity, c.id
    from unnest(${tasks.map(({ entityId }) => entityId)}::uuid[], ${tasks.map(({ seq }) => seq)}::bigint[],
      ${tasks.map((task) => (isRestoredByOtherUndo(task, events) ? 0 : (task.undoes ?? 0)))}::bigint[]) q(task_id, seq, undoes)
    left join tasks t on t.id = q.task_id
    cross join lateral (
      ${sql.unsafe(currentRows.join(' '))} select entity, id, event_id from restored where restored.seq = q.seq) c
    where not exists (
      select from events e where e.task_id = q.task_id and e.id = c.event_id and e.undoes = q.undoes)
    limit ${maxUndoneRows + 1}`
  if (remaining.length > maxUndoneRows) throw undoTooLarge()
  return remaining
}

/** True if `events` contains earlier deletions of the task, and this event does not undo the latest of them. */
export function isRestoredByOtherUndo(
  { entityId, seq, undoes }: LoggedEvent,
  events: LoggedEvent[],
): boolean {
  const isEarlier = (one: LoggedEvent) =>
    one.type === 'task.deleted' && one.entityId === entityId && one.seq < seq
  const deletions = events.filter(isEarlier).map((one) => one.seq)
  return deletions.length > 0 && Math.max(...deletions) !== undoes
}

/** An undo starts with the latest event. Returns the children that it restores before it reaches a task's creation. */
function childrenRestoredTo(
  { entityId, seq }: LoggedEvent,
  events: LoggedEvent[],
  children: UndoInput['children'],
) {
  const rows = new Map<string, { seq: number; entity: Entity; id: string; eventId: string }>()
  const put = (entity: Entity, { id, eventId }: { id: string; eventId: string }) =>
    rows.set(entity + id, { seq, entity, id, eventId })
  for (const event of events) {
    if (event.after || event.taskId !== entityId || event.seq < seq) continue
    if (event.entity !== 'task') put(event.entity, event.before as Rows[ChildOfTask])
    const taskChildren = children.get(event.seq)
    for (const [child, row] of taskChildren ? childEntries(taskChildren) : []) put(child, row)
  }
  return [...rows.values()]
}

/** Returns the seqs of the deletions whose rows were deleted again later, or moved to another project. */
export async function readDeletedAgain(
  sql: Sql,
  deletions: LoggedEvent[],
  undone: LoggedEvent[],
): Promise<UndoInput['deletedAgain']> {
  if (deletions.length === 0) return new Set()
  const later = sql`e.entity_id = q.entity_id and not e.id = any(${undone.map(({ id }) => id)}::uuid[])`
  const rows = await sql<{ seq: number }[]>`
    select q.seq::float8 as seq
    from unnest(${deletions.map(({ taskId, projectId }) => taskId ?? projectId)}::uuid[], ${deletions.map(({ entityId }) => entityId)}::uuid[],
      ${deletions.map(({ id }) => id)}::uuid[], ${deletions.map(({ seq }) => seq)}::bigint[]) q(parent_id, entity_id, id, seq)
    where exists (select from events e where e.task_id = q.parent_id and e.id > q.id and e.after is null and ${later})
      or exists (
        select from events e where e.project_id = q.parent_id and e.type = 'member.removed' and e.seq > q.seq and ${later})
      or exists (select from events e where e.project_id = q.parent_id and ${sql.unsafe(isOfLaterEntity('e'))}
        and e.after is null and e.seq > q.seq and ${later})`
  return new Set(rows.map(({ seq }) => seq))
}

/** @throws HttpError 409 if there are too many unassigned tasks for one undo */
export async function readUnassignments(
  sql: Sql,
  removals: LoggedEvent[],
): Promise<UndoInput['unassignments']> {
  if (removals.length === 0) return new Map()
  const { users = [] } = definitionOf('task')
  // The text of this expression equals the text of the index on the assignee.
  const unassigned = (name: string) => sql`
    (select seq, entity_id, '${sql.unsafe(name)}' as name from events where project_id = ${removals[0]!.projectId} and type = 'task.unassigned'
      and ${sql.unsafe(`before ->> '${name}'`)} = r.user_id and seq > r.seq order by seq desc limit ${maxUndoneRows + 1})`
  const found = sql`
    select r.seq::float8 as removal, e.seq::float8 as seq, e.entity_id, e.name,
      coalesce(char_length(t.title) + coalesce(char_length(t.description), 0), 0) as characters
    from unnest(${removals.map(({ seq }) => seq)}::bigint[],
      ${removals.map(({ before }) => (before as MemberRow).userId)}::text[]) r(seq, user_id)
    cross join lateral (${users.map(unassigned).reduce((all, one) => sql`${all} union all ${one}`)}) e
    left join tasks t on t.id = e.entity_id`
  const { rows, isTooMuch } = await readBounded<Unassignment & { removal: number }>(sql, found)
  if (isTooMuch) throw undoTooLarge()
  return Map.groupBy(rows, ({ removal }) => removal)
}

/** The maximum number of new sort keys that an undo follows: those of about 400 commits. */
const maxRespacings = 50_000

/** Reads the events that gave tasks new sort keys since the first of the events that moved or deleted a task. */
export async function readRespacings(sql: Sql, events: LoggedEvent[]): Promise<Respacing[]> {
  const placed = events.filter(
    ({ entity, before, after }) => entity === 'task' && before && (!after || 'position' in before),
  )
  if (placed.length === 0) return []
  // In a batch, the events that made room for a task come before its own event.
  const from = Math.min(...placed.map(({ seq, batch }) => batch ?? seq))
  const number = sql`(e.after ->> 'number')::int4 as number`
  return sql<Respacing[]>`
    select e.seq::float8 as seq, e.entity_id, e.after ->> 'position' as to, (
      select ${sql.unsafe(positionKey)} from (select e.before ->> 'position' as position, ${number}) r) as from
    from events e where e.project_id = ${placed[0]!.projectId} and e.seq >= ${from} and ${sql.unsafe(isRespacingSql('e'))}
    order by e.seq limit ${maxRespacings}`
}

const maxSearchedEvents = 10_000
const maxNamedEvents = 20

/** Adds the seqs of conflicting events to the error of an undo. Runs after the commit of the actor's commands. */
export const openAddConflictingSeqs =
  (sql: Sql) =>
  async (error: unknown): Promise<never> => {
    if (!(error instanceof UndoConflict)) throw error
    const { event, fields, undone } = error
    throw new UndoConflict(event, fields, undone, await conflictingSeqs(sql, error))
  }

async function conflictingSeqs(sql: Sql, { event, fields, undone }: UndoConflict): Promise<number[]> {
  const { projectId, entityId, taskId, seq, id } = event
  const later = taskId
    ? sql`task_id = ${taskId} and id > ${id}`
    : sql`project_id = ${projectId} and seq > ${seq}`
  const whole = fields.length === 0
  const { userId = null } = (event.before ?? {}) as { userId?: string }
  // A task's deletion conflicts with a change of the task's subtasks or comments, whichever event was first.
  const rows = await sql<{ seq: number }[]>`
    select seq::float8 as seq from (
      select * from events where ${later} order by ${taskId ? sql`id` : sql`seq`} limit ${maxSearchedEvents}) e
    where project_id = ${projectId} and not seq = any(${undone}::bigint[])
      and not (${sql.unsafe(isRespacingSql())}) and type <> ${observedType} and (
      entity_id = ${entityId} and (before is null or after is null or ${whole} or before ?| ${fields}::text[])
      or entity_id = ${taskId} and after is null or task_id = ${entityId} and ${whole}
      or entity = 'member' and after ->> 'userId' = ${userId} and ${whole})
    order by seq limit ${maxNamedEvents}`
  return rows.map((row) => row.seq)
}
