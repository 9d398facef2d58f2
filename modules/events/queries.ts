import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { eventFields } from '../../src/postgres/event-fields.ts'
import type { StoredEvent } from '../../src/facts/facts.ts'
import { requireKept } from '../../src/reads/kept.ts'
import { pageBytes, untilFull } from '../../src/reads/pages.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import type { User } from '../accounts/user.ts'
import type { Asked } from './parameters.ts'
import { type People, peopleIn, type ReadEvent } from './views.ts'

/** Events of a project looked at for one page, at most, when only some types are wanted. */
export const lookedAt = 10_000

/** An event as it is read, and how long its rows are. */
export type EventRow = StoredEvent & { taskId: string | null; bytes: number }
type Sides<T> = { before: T; after: T }

/** What is read of an event `e`: its rows as texts, for to make those is what it costs, and to measure them takes them too. */
export const eventColumns = (sql: Sql) => sql`
  ${eventFields(sql)}, e.before::text as before, e.after::text as after`

/** Reads events that a query finds, in its order, until they fill a page. */
export async function eventRows(sql: Sql, found: SqlPart, mostBytes = pageBytes): Promise<EventRow[]> {
  const long = sql`coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0)`
  const rows = await sql<
    (Omit<EventRow, 'before' | 'after'> & Sides<string | null>)[]
  >`${untilFull(sql, found, long, mostBytes)}`
  return rows.map(({ before, after, ...event }) => {
    const bytes = Buffer.byteLength(before ?? '') + Buffer.byteLength(after ?? '')
    return { ...event, before: rowIn(before), after: rowIn(after), bytes } as EventRow
  })
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

/**
 * What was asked for of a project's events up to the version seen. As seqs have no gaps, how many rows are
 * looked at is known before.
 * @throws Refusal 410 when some of those after `after` are no longer kept
 */
export async function eventsAt(
  { database: { reads: sql }, oldestKept }: Pick<Services, 'database' | 'oldestKept'>,
  { projectId, version }: Pick<Seen, 'projectId' | 'version'>,
  asked: Omit<Asked, 'waitMs'>,
): Promise<Stretch> {
  const { after, limit, types } = asked
  if (after >= version) return { events: [], upTo: version }
  const end = Math.min(version, after + lookedAt)
  const wanted = types ? sql`and e.type = any(${types}::text[])` : sql``
  const rows = await eventRows(
    sql,
    sql`select ${eventColumns(sql)} from events e where e.project_id = ${projectId} and e.seq > ${after}::bigint and e.seq <= ${end}::bigint ${wanted}
    order by e.seq limit ${limit}`,
  )
  if (rows[0]?.seq !== after + 1) await requireKept(oldestKept, projectId, after)
  const upTo = isCutAt(rows, limit) ? rows.at(-1)!.seq : end
  return { events: await withPeople(sql, rows), upTo }
}

/** The same events with those whom they name. */
export async function withPeople<E extends StoredEvent>(sql: Sql, rows: E[]): Promise<(E & Named)[]> {
  const people = await peopleOf(sql, rows)
  return rows.map((row) => ({ ...row, people }))
}
type Named = { people: People }

async function peopleOf(sql: Sql, events: StoredEvent[]): Promise<People> {
  const ids = [...new Set(events.flatMap(peopleIn))]
  if (ids.length === 0) return new Map()
  const users = await sql<User[]>`select id, name, email from users where id = any(${ids}::uuid[])`
  return new Map(users.map((user) => [user.id, user]))
}
