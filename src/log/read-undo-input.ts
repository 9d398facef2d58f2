import { isRespacingSql } from '../../drizzle/schema/log.ts'
import type { Entity } from '../model/entities.ts'
import { isRespacing } from '../model/events.ts'
import { personIdOf } from '../model/model.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields } from '../postgres/columns.ts'
import { eventsExpired, type OldestSeq } from '../reads/retention.ts'
import type { FindPerson } from '../reads/people.ts'
import { notFound } from '../responses/errors.ts'
import {
  readLaterChanges,
  readRemainingChildren,
  readRespacings,
  isRestoredByOtherUndo,
  readUnassignments,
} from './later-changes.ts'
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
} from './undo-input.ts'
import { readDeletedChildren } from './logged-children.ts'

/** The approximate length of a row's keys and ids in JSON. The size limit of an undo does not count them. */
const uncountedCharacters = 1_000

/** Checks the caller's rights before it reads other data. Updates need only accounts. */
export function openReadUndoInput(sql: Sql, oldestSeq: OldestSeq, findPerson: FindPerson): ReadUndoInput {
  const person = (key: string) => findPerson({ by: 'id', key })

  async function readAround(events: LoggedEvent[]): Promise<Omit<UndoInput, 'people'>> {
    const respacings = await readRespacings(sql, events)
    if (events.every(({ before, after }) => before && after)) return { events, ...nothingAround, respacings }
    const of = (type: string) => events.filter((event) => event.type === type)
    const removals = events.filter(({ after }) => !after)
    const [children, laterChanges, unassignments] = await Promise.all([
      readDeletedChildren(sql, of('task.deleted')),
      readLaterChanges(sql, removals, events),
      readUnassignments(sql, of('member.removed')),
    ])
    if (children === 'expired') {
      const oldest = (await oldestSeq(events[0]!.projectId)) ?? events[0]!.seq
      throw oldest > 1 ? eventsExpired(oldest) : undoTooLarge()
    }
    const remainingChildren = await readRemainingChildren(sql, of('task.created'), { events, children })
    return { events, children, ...laterChanges, remainingChildren, unassignments, respacings }
  }

  return async (at, selection) => {
    const events = await readSelectedEvents(sql, oldestSeq, at, selection)
    selection.authorize(at, events)
    const past = await readAround(events)
    const people = await Promise.all([...accountsIn(past)].map(person))
    return { ...past, people: new Map(people.flatMap((one) => (one ? [[one.id, one]] : []))) }
  }
}

const nothingAround: Omit<UndoInput, 'events' | 'people'> = {
  ...{ children: new Map(), deletedAgain: new Set<number>(), movedAway: new Set<number>() },
  ...{ remainingChildren: [], unassignments: new Map(), respacings: [] },
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
      : sql`${isOfBatch(sql, projectId, batch)} and (e.seq = ${batch} or not (${sql.unsafe(isRespacingSql('e'))}))`
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

function accountsIn({ events, children }: Omit<UndoInput, 'people'>): Set<string> {
  const rows = events.flatMap(({ entity, before, after }) =>
    [before, after].map((row): [Entity, object | null] => [entity, row]),
  )
  const childRows = [...children.values()].flatMap(childEntries)
  const ids = [...rows, ...childRows].flatMap(([entity, row]) => (row && personIdOf(entity, row)) || [])
  return new Set(ids)
}
