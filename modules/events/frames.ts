import { LRUCache } from 'lru-cache'
import { type Caller, holderOf } from '../../src/identity/rights.ts'
import { taskOf } from '../../src/log/rows.ts'
import { batched } from '../../src/postgres/batch.ts'
import { requireKept } from '../../src/reads/kept.ts'
import { pageBytes } from '../../src/reads/pages.ts'
import { requireSeen, type Seen } from '../../src/reads/lookups.ts'
import type { Services } from '../../src/services.ts'
import { encode } from '../../src/responses/server-sent-events.ts'
import { ahead, lastEventIdHeader } from './parameters.ts'
import { byRange, openPeople, type Range, type RangeRow, readRanges } from './rows.ts'
import { eventView } from './schema.ts'
import type { ReadEvent } from './views.ts'

/** Events that are encoded at once, at most. */
const mostAtOnce = 100
/** Bytes of frames that are cached, and how long; the bytes that each takes beside its text. */
const cachedBytes = 33_554_432
const cachedMs = 2_000
const ownBytes = 500
/** Ranges read in one query, at most; the bytes of each, and of all. */
const together = { keys: 20, slots: 2 }
const bounds = { bytesOfOne: 262_144, bytes: pageBytes }

/** A reader's place: a seq, and the event that the reader knows at this seq, if any. */
export interface Position {
  seq: number
  id?: string | undefined
}

export interface Frames {
  events: { type: string; text: string }[]
  bytes: Uint8Array<ArrayBuffer>
  end: Position
  /** The project as a caller may see it: read after the events, once for all streams of the caller. @throws HttpError 404 */
  seenBy(caller: Caller): Promise<Seen>
}

/** Reads and encodes the events after a position, once for all streams at that position. */
export function openFrames(services: Services) {
  const next = openNext(services)

  async function read({ projectId, version }: Seen, position: Position): Promise<Frames> {
    const { seq: after, id: afterId } = position
    const upTo = Math.min(version, after + mostAtOnce)
    const read = await next({ projectId, after, afterId, upTo, limit: mostAtOnce })
    const events = read.map((event) => {
      const data = JSON.stringify(eventView.of(event))
      return { type: event.type, text: `id: ${event.seq}\nevent: ${event.type}\ndata: ${data}\n\n` }
    })
    const bytes = encode(events.map(({ text }) => text).join(''))
    const last = read.at(-1)
    const end = last ? { seq: last.seq, id: last.id } : position
    return { events, bytes, end, seenBy: openSeenBy(services, projectId) }
  }

  const cached = new LRUCache<string, Frames, { seen: Seen; position: Position }>({
    ...{ maxSize: cachedBytes, ttl: cachedMs, ignoreFetchAbort: true },
    sizeCalculation: ({ bytes }) => ownBytes + 3 * bytes.length,
    fetchMethod: (_key, _stale, { context: { seen, position } }) => read(seen, position),
  })
  return async (seen: Seen, position: Position): Promise<Frames> => {
    if (services.subscriptions.countOf(seen.projectId) < 2) return read(seen, position)
    // With the event's id: after a failover the event at this seq may differ.
    const key = `${seen.projectId} ${position.seq} ${position.id}`
    const frames = (await cached.fetch(key, { context: { seen, position } }))!
    if (frames.events.length === 0) cached.delete(key)
    return frames
  }
}

/**
 * Reads the next events of projects for many streams in one query. Events that this process has just committed are not
 * read again. Empty if the events were lost with a failed primary, or if other ranges filled the query.
 * @throws HttpError 400 if another event came before them than was known, 410
 */
function openNext({ authenticate, database: { reads: sql }, oldestKept, recent }: Services) {
  const peopleOf = openPeople(sql, authenticate)
  const read = batched(together, async (ranges: Range[]) => {
    const known = ranges.map((range) => recent.after(range))
    const others = ranges.filter((_, n) => !known[n])
    const rows = others.length > 0 ? byRange(others, await readRanges(sql, others, bounds)) : []
    const all = known.map((events) => events ?? rows.shift()!)
    const people = await peopleOf(all.flat())
    return all.map((events) => events.map((event) => ({ taskId: taskOf(event), ...event, people })))
  })
  return async (range: Range): Promise<ReadEvent[]> => {
    const events = await read(range)
    const first = events[0] as Partial<RangeRow> | undefined
    if (first?.previousId && first.previousId !== range.afterId) throw ahead(lastEventIdHeader)
    if (first?.seq !== range.after + 1) await requireKept(oldestKept, range.projectId, range.after)
    return events
  }
}

function openSeenBy({ findRole }: Services, projectId: string) {
  const checks = new Map<string, Promise<Seen>>()
  return (caller: Caller): Promise<Seen> => {
    const holder = holderOf(caller)
    const seen = checks.get(holder) ?? requireSeen(findRole, caller, projectId)
    checks.set(holder, seen)
    return seen
  }
}
