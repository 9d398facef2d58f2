import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type OldestSeq, requireRetained } from '../../src/reads/retention.ts'
import type { Services } from '../../src/services.ts'
import { groupByRange, isFullPage, type EventRange, type RangeRow, readRanges, withPeople } from './rows.ts'
import type { ReadEvent } from './views.ts'

/** The most events that a page with a filter scans. */
export const maxScannedEvents = 10_000
/** A scan of this many events costs as much as one plain read. */
const eventsPerRead = 500

export const scanCost = (events: number): number => 1 + Math.min(events, maxScannedEvents) / eventsPerRead

/** The events of a project after a seq up to a version, filtered by `types` unless they are null. */
export interface EventSlice {
  projectId: string
  after: number
  version: number
  limit: number
  types: string[] | null
}

export interface EventPage {
  events: ReadEvent[]
  upTo: number
}

/** Seqs have no gaps, so the range of seqs bounds the scanned rows. */
const rangeOf = ({ projectId, after, version, limit, types }: EventSlice): EventRange => {
  return { projectId, after, upTo: Math.min(version, after + maxScannedEvents), limit, types }
}

async function rowsOf(sql: Sql, slices: EventSlice[]) {
  const ranges = slices.map(rangeOf)
  return groupByRange(ranges, await withPeople(sql, await readRanges(sql, ranges)))
}

type Rows = (ReadEvent & RangeRow)[]

/** @throws HttpError 410 if some events after `after` have expired */
async function pageAt(oldestSeq: OldestSeq, slice: EventSlice, read: (slice: EventSlice) => Promise<Rows>) {
  const { projectId, after, version, limit } = slice
  if (after >= version) return { events: [], upTo: version }
  const events = await read(slice)
  if (events[0]?.seq !== after + 1) await requireRetained(oldestSeq, projectId, after)
  return { events, upTo: isFullPage(events, limit) ? events.at(-1)!.seq : rangeOf(slice).upTo }
}

/** @throws HttpError 410 */
export const readEventPage = (sql: Sql, oldestSeq: OldestSeq, slice: EventSlice): Promise<EventPage> =>
  pageAt(oldestSeq, slice, async () => (await rowsOf(sql, [slice]))[0]!)

function weightOf(slice: EventSlice): number {
  const { after, upTo, limit, types } = rangeOf(slice)
  return types ? upTo - after : Math.min(upTo - after, limit)
}

/** The most slices in one query, and the most events that it scans. */
const batchLimits = { keys: 50, slots: 2, weigh: { limit: 2_000, of: weightOf } }

/** Reads the pages of many readers in one query. @throws HttpError 410 */
export function openEventPages({ database, oldestSeq }: Pick<Services, 'database' | 'oldestSeq'>) {
  const read = batched(batchLimits, (slices: EventSlice[]) => rowsOf(database.reads, slices))
  return (slice: EventSlice): Promise<EventPage> => pageAt(oldestSeq, slice, read)
}
