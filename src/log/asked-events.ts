import type { AskedOfLog, LoggedEvent } from './past.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields } from '../postgres/event-fields.ts'
import { untilFull } from '../reads/pages.ts'
import { mostAround, mostCharacters, mostUndone } from './overtaken.ts'

/** A project at the version that a command is decided on. */
interface At {
  projectId: string
  version: number
}

/** Characters of a row as JSON that its names and ids may take; the limit is on its texts. */
const plainCharacters = 1_000

/**
 * Reads the events that a command asks for, in order and in one query, and names one that is not there. Postgres ends the
 * query at the limits of rows and characters; then the events are too much. What moved with a task is not read: no move is
 * undone.
 */
export async function askedEvents(sql: Sql, { projectId, version }: At, { seqs = [], batch }: AskedOfLog) {
  // Seqs have no gaps: how far a batch may go is known before.
  const most = mostUndone + mostAround
  const upTo = batch === undefined ? version : Math.min(version, batch + most)
  const which =
    batch === undefined ? sql`e.seq = any(${seqs}::bigint[])` : sql`e.seq >= ${batch} and e.batch = ${batch}`
  const rows = sql`
    select ${eventFields(sql)}, e.before, case when e.type <> 'task.moved_in' then e.after end as after from events e
    where e.project_id = ${projectId} and e.seq <= ${upTo} and ${which} order by e.seq limit ${most + 1}`
  const texts = sql`${characters(sql, 'before')} + ${characters(sql, 'after')}`
  const read = await sql<(LoggedEvent & { characters: number })[]>`
    ${untilFull(sql, sql`select r.*, ${texts} as characters from (${rows}) r`, sql`characters`, mostCharacters + 1)}`
  const sum = read.reduce((all, event) => all + event.characters, 0)
  const known = new Set(read.map(({ seq }) => seq))
  return {
    events: withoutCompany(read),
    missing: batch === undefined ? seqs.find((seq) => !known.has(seq)) : known.has(batch) ? undefined : batch,
    isTooMuch: read.length > most || sum > mostCharacters,
  }
}

const characters = (sql: Sql, row: 'before' | 'after') =>
  sql`greatest(coalesce(char_length(${sql(row)}::text), 0) - ${plainCharacters}, 0)`

/**
 * Without what came back with a task that is among them, and did nothing else: it is deleted with the task again. Not where
 * an earlier deletion of the task is among them too: the task then returns with other children.
 */
function withoutCompany(events: LoggedEvent[]): LoggedEvent[] {
  const nameOf = ({ taskId, undoes }: LoggedEvent) => `${taskId} ${undoes}`
  const cameBack = (event: LoggedEvent) => event.undoes != null && !event.before
  const tasks = events.filter((event) => event.entity === 'task' && cameBack(event))
  if (tasks.length === 0) return events
  const back = new Set(tasks.filter((task) => !returnsOtherwise(task, events)).map(nameOf))
  const about = Map.groupBy(events, (event) => event.entityId)
  const isCompany = (event: LoggedEvent) =>
    event.entity !== 'task' &&
    cameBack(event) &&
    back.has(nameOf(event)) &&
    about.get(event.entityId)!.length === 1
  return events.filter((event) => !isCompany(event))
}

/**
 * Returns true if a task whose creation is undone is then restored by the undo of an earlier deletion, which is not the
 * deletion that its creation undid.
 */
export function returnsOtherwise({ entityId, seq, undoes }: LoggedEvent, events: LoggedEvent[]): boolean {
  const isEarlier = (one: LoggedEvent) =>
    one.type === 'task.deleted' && one.entityId === entityId && one.seq < seq
  const deletions = events.filter(isEarlier).map((one) => one.seq)
  return deletions.length > 0 && Math.max(...deletions) !== undoes
}
