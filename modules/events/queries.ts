import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { eventFields } from '../../src/postgres/event-fields.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { requireKept } from '../../src/reads/kept.ts'
import { pageBytes, untilFull } from '../../src/reads/pages.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import type { User } from '../accounts/user.ts'
import type { Asked } from './parameters.ts'
import { type People, peopleIn, type ReadEvent } from './views.ts'

/** Events of a project looked at for one page, at most, when only some types are wanted. */
export const lookedAt = 10_000
/** Of them, at the cost of a plain read. */
const eventsOfRead = 500

/** An event as it is read, and how long its rows are. */
export type EventRow = StoredEvent & { taskId: string | null; bytes: number }
type Sides<T> = { before: T; after: T }

/** What is read of an event `e`: its rows as texts, for to make those is what it costs, and to measure them takes them too. */
export const eventColumns = (sql: Sql) => sql`
  ${eventFields(sql)}, coalesce(e.before, e.told -> 'before')::text as before,
  coalesce(e.after, e.told -> 'after')::text as after`

/** Events that a query finds, in its order, until they fill a page: measured as the texts that they are by then. */
export const fitting = (sql: Sql, found: SqlPart, mostBytes?: number) =>
  untilFull(sql, found, sql`coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0)`, mostBytes)

/** Reads events that a query finds, in its order, until they fill a page. */
export const eventRows = async (sql: Sql, found: SqlPart, mostBytes = pageBytes): Promise<EventRow[]> =>
  (await sql<RowTexts[]>`${fitting(sql, found, mostBytes)}`).map(read)

/** Events as they come. */
export type RowTexts = Omit<EventRow, 'before' | 'after' | 'bytes'> & Sides<string | null>

export const read = ({ before, after, ...event }: RowTexts): EventRow => {
  const bytes = Buffer.byteLength(before ?? '') + Buffer.byteLength(after ?? '')
  return { ...event, before: rowIn(before), after: rowIn(after), bytes } as EventRow
}

const rowIn = (text: string | null): unknown => (text === null ? null : JSON.parse(text))

/** Whether there may be more of them than were read. */
export const isCutAt = (rows: EventRow[], limit: number, mostBytes = pageBytes): boolean =>
  rows.length >= limit || rows.reduce((sum, { bytes }) => sum + bytes, 0) >= mostBytes

/** Events in order, and the seq up to which there are no others that were asked for. */
export interface Stretch {
  events: ReadEvent[]
  upTo: number
}

type Means = Pick<Services, 'oldestKept'> & { sql: Sql }
type Place = Pick<Seen, 'projectId' | 'version'>
type Wanted = Omit<Asked, 'waitMs'>

/**
 * What was asked for of a project's events up to the version seen. As seqs have no gaps, how many rows are
 * looked at is known before.
 * @throws Refusal 410 when some of those after `after` are no longer kept
 */
export async function eventsAt(means: Means, { projectId, version }: Place, asked: Wanted): Promise<Stretch> {
  const { after, limit, types } = asked
  if (after >= version) return { events: [], upTo: version }
  const { sql } = means
  const end = lastLookedAt(version, after)
  const wanted = types ? sql`and e.type = any(${types}::text[])` : sql``
  const rows = await eventRows(
    sql,
    sql`select ${eventColumns(sql)} from events e where e.project_id = ${projectId} and e.seq > ${after}::bigint and e.seq <= ${end}::bigint ${wanted}
    order by e.seq limit ${limit}`,
  )
  const upTo = await reached(means, rows, { projectId, after, limit, end })
  return { events: await withPeople(sql, rows), upTo }
}

/** In plain reads, of events that are looked through for those that are wanted. */
export const costOfLooking = (events: number): number => 1 + Math.min(events, lookedAt) / eventsOfRead

export const lastLookedAt = (version: number, after: number): number => Math.min(version, after + lookedAt)

/** How far rows have got that were looked for after a seq up to an end. @throws Refusal 410 */
export async function reached(
  { oldestKept }: Pick<Services, 'oldestKept'>,
  rows: EventRow[],
  { projectId, after, limit, end }: { projectId: string; after: number; limit: number; end: number },
): Promise<number> {
  if (rows[0]?.seq !== after + 1) await requireKept(oldestKept, projectId, after)
  return isCutAt(rows, limit) ? rows.at(-1)!.seq : end
}

/** The same events with those whom they name. */
export async function withPeople<E extends StoredEvent>(sql: Sql, rows: E[]): Promise<(E & Named)[]> {
  const people = await peopleOf(sql, rows)
  return rows.map((row) => ({ ...row, people }))
}
type Named = { people: People }

/** Those whom they name, as they are called now. */
const peopleOf = (sql: Sql, events: StoredEvent[]): Promise<People> =>
  accountsOf(sql, [...new Set(events.flatMap(peopleIn))])

/** Accounts by their ids, those that are there. */
export async function accountsOf(sql: Sql, ids: string[]): Promise<People> {
  if (ids.length === 0) return new Map()
  const users = await sql<User[]>`select id, name, email from users where id = any(${ids}::uuid[])`
  return new Map(users.map((user) => [user.id, user]))
}
