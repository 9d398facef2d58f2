import { LRUCache } from 'lru-cache'
import { type Caller, holderOf } from '../../src/identity/rights.ts'
import { taskIdOf } from '../../src/log/rows.ts'
import { batched } from '../../src/postgres/batch.ts'
import { requireRetained } from '../../src/reads/retention.ts'
import { pageBytes } from '../../src/reads/pages.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import type { Services } from '../../src/services.ts'
import { encode } from '../../src/responses/server-sent-events.ts'
import { aheadOfProject, lastEventIdHeader } from './parameters.ts'
import { groupByRange, openPeople, type EventRange, type RangeRow, readRanges } from './rows.ts'
import { eventView } from './schema.ts'
import type { ReadEvent } from './views.ts'

/** The most events in one chunk of a stream. */
const maxEvents = 100
const maxCacheBytes = 33_554_432
const cachedMs = 2_000
/** The estimated memory of a cached chunk without its text. */
const overheadBytes = 500
const batchLimits = { keys: 20, slots: 2 }
/** Limits of one query: the bytes of one range, and the bytes of all ranges together. */
const bounds = { bytesOfOne: 262_144, bytes: pageBytes }

/** The seq of the last event that a stream has sent, and the id of this event if it is known. */
export interface Position {
  seq: number
  id?: string | undefined
}

export interface EncodedEvents {
  events: { type: string; text: string }[]
  bytes: Uint8Array<ArrayBuffer>
  end: Position
  /** All streams of one caller share this check. */
  visibleTo(caller: Caller): Promise<VisibleProject>
}

/** Returns a function that reads and encodes the events after a position. Streams at one position share the result. */
export function openEncodedEvents(services: Services) {
  const next = openNext(services)

  async function read({ projectId, version }: VisibleProject, position: Position): Promise<EncodedEvents> {
    const { seq: after, id: afterId } = position
    const upTo = Math.min(version, after + maxEvents)
    const found = await next({ projectId, after, afterId, upTo, limit: maxEvents })
    const events = found.map((event) => {
      const data = JSON.stringify(eventView.of(event))
      return { type: event.type, text: `id: ${event.seq}\nevent: ${event.type}\ndata: ${data}\n\n` }
    })
    const bytes = encode(events.map(({ text }) => text).join(''))
    const last = found.at(-1)
    const end = last ? { seq: last.seq, id: last.id } : position
    return { events, bytes, end, visibleTo: openVisibleTo(services, projectId) }
  }

  const cached = new LRUCache<string, EncodedEvents, { project: VisibleProject; position: Position }>({
    ...{ maxSize: maxCacheBytes, ttl: cachedMs, ignoreFetchAbort: true },
    sizeCalculation: ({ bytes }) => overheadBytes + 3 * bytes.length,
    fetchMethod: (_key, _stale, { context: { project, position } }) => read(project, position),
  })
  return async (project: VisibleProject, position: Position): Promise<EncodedEvents> => {
    if (services.subscriptions.countOf(project.projectId) < 2) return read(project, position)
    // The key contains the event's id, because after a failover another event may have this seq.
    const key = `${project.projectId} ${position.seq} ${position.id}`
    const encoded = (await cached.fetch(key, { context: { project, position } }))!
    if (encoded.events.length === 0) cached.delete(key)
    return encoded
  }
}

/** Returns no events if a failover has lost the events, or if events of other streams used up the query's bytes. */
function openNext({ authenticate, database: { reads: sql }, oldestSeq, recent }: Services) {
  const findPeople = openPeople(sql, authenticate)
  const read = batched(batchLimits, async (ranges: EventRange[]) => {
    const recentEvents = ranges.map((range) => recent.after(range))
    const others = ranges.filter((_, n) => !recentEvents[n])
    const rows = others.length > 0 ? groupByRange(others, await readRanges(sql, others, bounds)) : []
    const all = recentEvents.map((events) => events ?? rows.shift()!)
    const people = await findPeople(all.flat())
    return all.map((events) => events.map((event) => ({ taskId: taskIdOf(event), ...event, people })))
  })
  return async (range: EventRange): Promise<ReadEvent[]> => {
    const events = await read(range)
    const first = events[0] as Partial<RangeRow> | undefined
    if (first?.previousId && first.previousId !== range.afterId) throw aheadOfProject(lastEventIdHeader)
    if (first?.seq !== range.after + 1) await requireRetained(oldestSeq, range.projectId, range.after)
    return events
  }
}

function openVisibleTo({ findRole }: Services, projectId: string) {
  const checks = new Map<string, Promise<VisibleProject>>()
  return (caller: Caller): Promise<VisibleProject> => {
    const holder = holderOf(caller)
    const project = checks.get(holder) ?? requireVisible(findRole, caller, projectId)
    checks.set(holder, project)
    return project
  }
}
