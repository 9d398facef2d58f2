import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type OldestSeq, requireRetained } from '../../src/reads/retention.ts'
import type { Services } from '../../src/services.ts'
import { groupByRange, isFullPage, type EventRange, type RangeRow, readRanges, withPeople } from './rows.ts'
import type { ReadEvent } from './views.ts'

export const maxScannedEvents = 10_000
/** A scan of this many events is charged as one ordinary read. */
export const eventsPerRead = 500

export const scanCost = (events: number): number => 1 + Math.min(events, maxScannedEvents) / eventsPerRead

/** A request for the events of a project after the seq `after` and up to `version`. Null `types` means all types. */
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

/** Seqs have no gaps, so a limited range of seqs limits the scanned rows. */
const rangeOf = ({ projectId, after, version, limit, types }: EventSlice): EventRange => {
  return { projectId, after, upTo: Math.min(version, after + maxScannedEvents), limit, types }
}

async function rowsOf(sql: Sql, slices: EventSlice[]) {
  const ranges = slices.map(rangeOf)
  return groupByRange(ranges, await withPeople(sql, await readRanges(sql, ranges)))
}

type Rows = (ReadEvent & RangeRow)[]

async function pageAt(oldestSeq: OldestSeq, slice: EventSlice, read: (slice: EventSlice) => Promise<Rows>) {
  const { projectId, after, version, limit } = slice
  if (after >= version) return { events: [], upTo: version }
  const events = await read(slice)
  if (events[0]?.seq !== after + 1) await requireRetained(oldestSeq, projectId, after)
  return { events, upTo: isFullPage(events, limit) ? events.at(-1)!.seq : rangeOf(slice).upTo }
}

export const readEventPage = (sql: Sql, oldestSeq: OldestSeq, slice: EventSlice): Promise<EventPage> =>
  pageAt(oldestSeq, slice, async () => (await rowsOf(sql, [slice]))[0]!)

function weightOf(slice: EventSlice): number {
  const { after, upTo, limit, types } = rangeOf(slice)
  return types ? upTo - after : Math.min(upTo - after, limit)
}

/** One query reads at most 50 pages and scans at most 2,000 events, unless a single page scans more. */
const batchLimits = { keys: 50, slots: 2, weigh: { limit: 2_000, of: weightOf } }

/** Reads the pages of many readers in one query. */
export function openEventPages({ database, oldestSeq }: Pick<Services, 'database' | 'oldestSeq'>) {
  const read = batched(batchLimits, (slices: EventSlice[]) => rowsOf(database.reads, slices))
  return (slice: EventSlice): Promise<EventPage> => pageAt(oldestSeq, slice, read)
}
