import type { AskedOfLog, LoggedEvent, ReadingPast } from './past.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields } from '../postgres/columns.ts'
import { mostAround, mostUndone, readBounded } from './overtaken.ts'

/** Characters of a row as JSON that its names and ids may take; the limit is on its texts. */
const plainCharacters = 1_000

/**
 * Reads the events that a command asks for, in order and in one query, and names one that is missing. What moved with a task
 * is not read: no move is undone.
 */
export async function askedEvents(
  sql: Sql,
  { projectId, version }: ReadingPast,
  { seqs = [], batch }: AskedOfLog,
) {
  // Seqs have no gaps: how far a batch may go is known before.
  const most = mostUndone + mostAround
  const upTo = batch === undefined ? version : Math.min(version, batch + most)
  const which =
    batch === undefined ? sql`e.seq = any(${seqs}::bigint[])` : sql`e.seq >= ${batch} and e.batch = ${batch}`
  const rows = sql`
    select ${eventFields(sql)}, e.before, case when e.type <> 'task.moved_in' then e.after end as after from events e
    where e.project_id = ${projectId} and e.seq <= ${upTo} and ${which} order by e.seq limit ${most + 1}`
  const texts = sql`${characters(sql, 'before')} + ${characters(sql, 'after')}`
  const found = sql`select r.*, ${texts} as characters from (${rows}) r`
  const { rows: read, isTooMuch } = await readBounded<LoggedEvent>(sql, found, most)
  const known = new Set(read.map(({ seq }) => seq))
  const missing = (batch === undefined ? seqs : [batch]).find((seq) => !known.has(seq))
  return { events: withoutCompany(read), missing, isTooMuch }
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
