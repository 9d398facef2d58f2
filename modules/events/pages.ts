import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type OldestKept, requireKept } from '../../src/reads/kept.ts'
import type { Services } from '../../src/services.ts'
import { byRange, isCutAt, type Range, type RangeRow, readRanges, withPeople } from './rows.ts'
import type { ReadEvent } from './views.ts'

/** Events of a project that are read through for one page, at most, if only some types are wanted. */
export const lookedAt = 10_000
/** Of them, at the cost of a plain read. */
const eventsOfRead = 500

export const costOfLooking = (events: number): number => 1 + Math.min(events, lookedAt) / eventsOfRead

/** The events of a project after a seq up to a version: of some types, or all. */
export interface Place {
  projectId: string
  after: number
  version: number
  limit: number
  types: string[] | null
}

export interface Stretch {
  events: ReadEvent[]
  upTo: number
}

/** As seqs have no gaps, the number of rows that are read through is known before. */
const rangeOf = ({ projectId, after, version, limit, types }: Place): Range => {
  return { projectId, after, upTo: Math.min(version, after + lookedAt), limit, types }
}

async function rowsOf(sql: Sql, places: Place[]) {
  const ranges = places.map(rangeOf)
  return byRange(ranges, await withPeople(sql, await readRanges(sql, ranges)))
}

type Rows = (ReadEvent & RangeRow)[]

/** @throws HttpError 410 if some events after `after` are no longer kept */
async function stretchAt(oldestKept: OldestKept, place: Place, read: (place: Place) => Promise<Rows>) {
  const { projectId, after, version, limit } = place
  if (after >= version) return { events: [], upTo: version }
  const events = await read(place)
  if (events[0]?.seq !== after + 1) await requireKept(oldestKept, projectId, after)
  return { events, upTo: isCutAt(events, limit) ? events.at(-1)!.seq : rangeOf(place).upTo }
}

/** @throws HttpError 410 */
export const eventsAt = (sql: Sql, oldestKept: OldestKept, place: Place): Promise<Stretch> =>
  stretchAt(oldestKept, place, async () => (await rowsOf(sql, [place]))[0]!)

function weightOf(place: Place): number {
  const { after, upTo, limit, types } = rangeOf(place)
  return types ? upTo - after : Math.min(upTo - after, limit)
}

/** Places read in one query, at most, and the events that are read through for them. */
const together = { keys: 50, slots: 2, weigh: { limit: 2_000, of: weightOf } }

/** The same for many readers in one query: each gets what it would get alone. @throws HttpError 410 */
export function openStretches({ database, oldestKept }: Pick<Services, 'database' | 'oldestKept'>) {
  const read = batched(together, (places: Place[]) => rowsOf(database.reads, places))
  return (place: Place): Promise<Stretch> => stretchAt(oldestKept, place, read)
}
