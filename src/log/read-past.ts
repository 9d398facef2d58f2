import type { Entity } from '../model/entities.ts'
import { personIdOf } from '../model/model.ts'
import type { Sql } from '../postgres/database.ts'
import { eventFields } from '../postgres/columns.ts'
import { gone, type OldestKept } from '../reads/kept.ts'
import type { FindPerson } from '../reads/people.ts'
import { notFound } from '../responses/errors.ts'
import { goneSince, hangingOn, returnsOtherwise, takenFrom } from './around.ts'
import { eachOf } from './children.ts'
import { mostAround, mostUndone, readBounded, tooMany, tooMuch } from './overtaken.ts'
import type { AskedOfLog, LoggedEvent, Past, ReadingPast, ReadPast } from './past.ts'
import { childrenOf } from './told-children.ts'

/** Characters of a row as JSON that its names and ids may take; the limit is on its texts. */
const plainCharacters = 1_000

/**
 * Opens the way to what a command asks of the log. The events come first, then the rights that they take, and only then
 * what became of their rows. A plain change of one row costs the event and its people, no more.
 */
export function openReadPast(sql: Sql, oldestKept: OldestKept, findPerson: FindPerson): ReadPast {
  const person = (key: string) => findPerson({ by: 'id', key })

  /** @throws HttpError 409, 410 */
  async function around(events: LoggedEvent[]): Promise<Omit<Past, 'people'>> {
    if (events.every(({ before, after }) => before && after)) return { events, ...nothingMore }
    const of = (type: string) => events.filter((event) => event.type === type)
    const removals = events.filter(({ after }) => !after)
    const [children, since, taken] = await Promise.all([
      childrenOf(sql, of('task.deleted')),
      goneSince(sql, removals, events),
      takenFrom(sql, of('member.removed')),
    ])
    if (children === 'forgotten') {
      const oldest = (await oldestKept(events[0]!.projectId)) ?? events[0]!.seq
      throw oldest > 1 ? gone(oldest) : tooMuch()
    }
    const hanging = await hangingOn(sql, of('task.created'), { events, children })
    return { events, children, ...since, hanging, taken }
  }

  return async (at, asked) => {
    const events = await eventsOf(sql, oldestKept, at, asked)
    asked.authorize(at, events)
    const past = await around(events)
    const people = await Promise.all([...whoIn(past)].map(person))
    return { ...past, people: new Map(people.flatMap((one) => (one ? [[one.id, one]] : []))) }
  }
}

const nothingMore: Omit<Past, 'events' | 'people'> = {
  ...{ children: new Map(), goneAgain: new Set<number>(), elsewhere: new Set<number>() },
  ...{ hanging: [], taken: new Map() },
}

/**
 * Reads the events that a command asks for, the latest first. The children of a moved task are not read, because no move is undone.
 * @throws HttpError 404, 409, 410
 */
async function eventsOf(
  sql: Sql,
  oldestKept: OldestKept,
  { projectId, version }: ReadingPast,
  { seqs = [], batch }: AskedOfLog,
): Promise<LoggedEvent[]> {
  // Seqs have no gaps: how far a batch may go is known before.
  const most = mostUndone + mostAround
  const upTo = batch === undefined ? version : Math.min(version, batch + most)
  const which =
    batch === undefined ? sql`e.seq = any(${seqs}::bigint[])` : sql`e.seq >= ${batch} and e.batch = ${batch}`
  const found = sql`
    select r.*, ${characters(sql, 'before')} + ${characters(sql, 'after')} as characters from (
      select ${eventFields(sql)}, e.before, case when e.type <> 'task.moved_in' then e.after end as after from events e
      where e.project_id = ${projectId} and e.seq <= ${upTo} and ${which} order by e.seq limit ${most + 1}) r`
  const { rows, isTooMuch } = await readBounded<LoggedEvent>(sql, found, most)
  const events = withoutCompany(rows)
  if (events.length > mostUndone) throw tooMany()
  if (isTooMuch) throw tooMuch()
  const known = new Set(rows.map(({ seq }) => seq))
  const missing = (batch === undefined ? seqs : [batch]).find((seq) => !known.has(seq))
  if (missing === undefined) return events.sort((a, b) => b.seq - a.seq)
  const oldest = await oldestKept(projectId)
  if (oldest !== undefined && missing < oldest && missing <= version) throw gone(oldest)
  throw notFound(batch === undefined ? `Event ${missing}` : `Batch ${missing}`)
}

const characters = (sql: Sql, row: 'before' | 'after') =>
  sql`greatest(coalesce(char_length(${sql(row)}::text), 0) - ${plainCharacters}, 0)`

/**
 * Without the events that only restored a child together with a task among the events: it is deleted with the task again.
 * Not where an earlier deletion of the task is among them too: the task then returns with other children.
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

/** The accounts whose names rows show. */
function whoIn({ events, children }: Omit<Past, 'people'>): Set<string> {
  const rows = events.flatMap(({ entity, before, after }) =>
    [before, after].map((row): [Entity, object | null] => [entity, row]),
  )
  const along = [...children.values()].flatMap(eachOf)
  const ids = [...rows, ...along].flatMap(([entity, row]) => (row && personIdOf(entity, row)) || [])
  return new Set(ids)
}
