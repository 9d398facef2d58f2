import { LRUCache } from 'lru-cache'
import type { Authenticate } from '../../src/identity/sessions.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { grouped } from '../../src/postgres/grouped.ts'
import { eventFields } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { hasRoom, pageBytes, untilPageFull } from '../../src/reads/pages.ts'
import { type OldestSeq, openOldestSeq, requireRetained } from '../../src/reads/retention.ts'
import type { Services } from '../../src/services.ts'
import type { User } from '../accounts/user.ts'
import { eventView, type People, peopleIn, type ReadEvent } from './schema.ts'

type EventRow = StoredEvent & { taskId: string | null; bytes: number }
type RowTexts = Omit<EventRow, 'before' | 'after' | 'bytes'> & { before: string | null; after: string | null }

/** SQL for the columns of event `e`. `before` and `after` are texts, so that Postgres can measure their lengths. */
export const eventColumns = (sql: Sql) => sql`
  ${eventFields(sql)}, coalesce(e.before, e.told -> 'before')::text as before,
  coalesce(e.after, e.told -> 'after')::text as after`
const bytesOf = (sql: Sql) => sql`coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0)`

function parseRow(row: RowTexts): EventRow {
  const { before, after } = row
  const bytes = Buffer.byteLength(before ?? '') + Buffer.byteLength(after ?? '')
  return Object.assign(row, { before: rowIn(before), after: rowIn(after), bytes }) as unknown as EventRow
}
const rowIn = (text: string | null): unknown => (text === null ? null : JSON.parse(text))

export const isFullPage = (rows: EventRow[], limit: number): boolean =>
  rows.length >= limit || rows.reduce((sum, { bytes }) => sum + bytes, 0) >= pageBytes

export const readEvents = async (sql: Sql, found: SqlPart): Promise<EventRow[]> =>
  (await sql<RowTexts[]>`${untilPageFull(sql, found, bytesOf(sql))}`).map(parseRow)

/** The events that a reader wants. Null `types` means all types; without `exceptActor`, the events of all accounts. */
export interface EventFilter {
  types?: string[] | null
  exceptActor?: string | null | undefined
}

export interface EventRange extends EventFilter {
  projectId: string
  after: number
  /** The id of the event at `after`, if it is known: after a failover another event may have this seq. */
  afterId?: string | undefined
  upTo: number
  limit: number
}

/** `n` is the index of the range. `previousId` is the id of the event before the first event of the range. */
export type RangeRow = EventRow & { n: number; previousId: string | null }

/**
 * Reads ranges in one query, each without a gap. If the events exceed a limit, the first events of all ranges are
 * chosen before the second events of all ranges, and so on. Ranges are in random order.
 */
export async function readRanges(
  sql: Sql,
  ranges: EventRange[],
  { bytesOfOne = pageBytes, events = 0, bytes = Number.MAX_SAFE_INTEGER } = {},
): Promise<RangeRow[]> {
  const input = ranges.map(({ projectId, after, afterId, upTo, limit, types, exceptActor }) => ({
    ...{ project_id: projectId, after, after_id: afterId, up_to: upTo, max_rows: limit, types },
    except_actor: exceptActor,
  }))
  const found = sql`select ${eventColumns(sql)}, case when q.after_id is not null and e.seq = q.after + 1 then
      (select p.id from events p where p.project_id = e.project_id and p.seq = q.after) end as previous_id
    from events e where e.project_id = q.project_id and e.seq > q.after and e.seq <= q.up_to
      and (q.types is null or e.type = any(q.types)) and (q.except_actor is null or e.actor_id <> q.except_actor)
    order by e.seq limit q.max_rows`
  const rows = await sql<(RowTexts & { n: number })[]>`
    select * from (select e.*, ${hasRoom(sql, bytesOf(sql), bytes)} as fits from (
      select e.*, q.n::int4 as n
      from rows from (jsonb_to_recordset(${JSON.stringify(input)}::text::jsonb)
        as (project_id uuid, after bigint, after_id uuid, up_to bigint, max_rows int4, types text[],
          except_actor uuid)) with ordinality
        as q(project_id, after, after_id, up_to, max_rows, types, except_actor, n)
      cross join lateral (${untilPageFull(sql, found, bytesOf(sql), bytesOfOne)}) e
      order by e.seq - q.after, random() limit nullif(${events}::int4, 0)) e) e where fits`
  return rows.map(parseRow) as RangeRow[]
}

export function groupByRange<R extends { n: number }>(ranges: EventRange[], rows: R[]): R[][] {
  const lists = Map.groupBy(rows, ({ n }) => n - 1)
  return ranges.map((_, n) => lists.get(n) ?? [])
}

const accountIdsIn = (events: StoredEvent[]) => [...new Set(events.flatMap(peopleIn))]

export async function withPeople<E extends StoredEvent>(sql: Sql, events: E[]) {
  const people = await readAccounts(sql, accountIdsIn(events))
  return events.map((event) => Object.assign(event, { people }))
}

async function readAccounts(sql: Sql, ids: string[]): Promise<People> {
  if (ids.length === 0) return new Map()
  const users = await sql<User[]>`select id, name, email from users where id = any(${ids}::uuid[])`
  return new Map(users.map((user) => [user.id, user]))
}

/** Accounts are cached for as long as token checks: a query for each commit would double the cost of a stream. */
const cachedMs = 500

/** A change of an account in this process is shown at once. */
export function openPeople(sql: Sql, { hasChangedSince }: Pick<Authenticate, 'hasChangedSince'>) {
  const isCurrent = (id: string) => cache.has(id) && !hasChangedSince(id, cache.get(id)!.readAt)
  // An entry may expire while several calls that found it current read other accounts.
  const cache = new LRUCache<string, { user: User | undefined; readAt: number }>({
    ...{ max: 10_000, ttl: cachedMs, allowStale: true, noDeleteOnStaleGet: true },
  })
  return async (events: StoredEvent[]): Promise<People> => {
    const ids = accountIdsIn(events)
    const missing = ids.filter((id) => !isCurrent(id))
    const readAt = performance.now()
    const users = await readAccounts(sql, missing)
    for (const id of missing) cache.set(id, { user: users.get(id), readAt })
    const found = ids.map((id) => cache.get(id)?.user)
    return new Map(found.flatMap((user) => (user ? [[user.id, user]] : [])))
  }
}

export const maxScannedEvents = 10_000
/** A scan of this many events is charged as one ordinary read. */
const eventsPerRead = 500

export const scanCost = (events: number): number => 1 + Math.min(events, maxScannedEvents) / eventsPerRead

export const hasFilter = ({ types, exceptActor }: EventFilter): boolean => !!types || !!exceptActor

/** The last seq that a page may scan. Seqs have no gaps, so a limited range of seqs limits the scanned rows. */
export const scanEnd = (after: number, version: number): number => Math.min(version, after + maxScannedEvents)

const readPages = async (sql: Sql, ranges: EventRange[]) =>
  groupByRange(ranges, await withPeople(sql, await readRanges(sql, ranges)))

type Rows = (ReadEvent & RangeRow)[]

/** In the result, `upTo` is the seq of the last scanned event. */
async function pageOf(oldestSeq: OldestSeq, range: EventRange, read: (range: EventRange) => Promise<Rows>) {
  const { projectId, after, upTo, limit } = range
  if (after >= upTo) return { events: [], upTo }
  const events = await read(range)
  if (events[0]?.seq !== after + 1) await requireRetained(oldestSeq, projectId, after)
  return { events, upTo: isFullPage(events, limit) ? events.at(-1)!.seq : upTo }
}

export const readEventPage = (sql: Sql, oldestSeq: OldestSeq, range: EventRange) =>
  pageOf(oldestSeq, range, async () => (await readPages(sql, [range]))[0]!)

function weightOf({ after, upTo, limit, ...filter }: EventRange): number {
  return hasFilter(filter) ? upTo - after : Math.min(upTo - after, limit)
}

/** One query reads at most 50 pages and scans at most 2,000 events, unless a single page scans more. */
const groupLimits = { keys: 50, slots: 2, weigh: { limit: 2_000, of: weightOf } }

export function openEventPages({ database, oldestSeq }: Pick<Services, 'database' | 'oldestSeq'>) {
  const read = grouped(groupLimits, (ranges: EventRange[]) => readPages(database.reads, ranges))
  return (range: EventRange) => pageOf(oldestSeq, range, read)
}

const eventsPerPage = 200

export async function* eventTexts(
  { sql, projectId, version }: { sql: Sql; projectId: string; version: number },
  textOf: (shown: object) => string,
): AsyncGenerator<string, void, void> {
  const oldestSeq = openOldestSeq(sql)
  for (let after = ((await oldestSeq(projectId)) ?? 1) - 1; after < version;) {
    const range = { projectId, after, upTo: version, limit: eventsPerPage }
    const { events, upTo } = await readEventPage(sql, oldestSeq, range)
    yield events.map((event) => textOf(eventView.of(event))).join('')
    after = upTo
  }
}
