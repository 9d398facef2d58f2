import { LRUCache } from 'lru-cache'
import { type Caller, holderOf } from '../../src/identity/rights.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { openNext } from './next.ts'
import type { Position } from './reauthorize.ts'
import { eventView } from './schema.ts'
import type { ReadEvent } from './views.ts'
import { encode } from '../../src/wire/server-sent.ts'

/** Events that are encoded at once, at most. */
const mostAtOnce = 100
/** Frames kept for streams at the same position, in bytes, and how long. */
const keptBytes = 33_554_432
const keptMs = 2_000
/** The bytes that frames take beside their text. */
const ownBytes = 500

/** Events as streams send them. */
export interface Frames {
  events: { type: string; text: string }[]
  /** All of them. */
  bytes: Uint8Array<ArrayBuffer>
  end: Position
  /** The project as a caller may see it: read after the events, once for all streams of the caller. @throws Refusal 404 */
  seenBy(caller: Caller): Promise<Seen>
}

type Means = Pick<
  Services,
  'authenticate' | 'database' | 'findRole' | 'followers' | 'oldestKept' | 'recent' | 'versions'
>

/** Reads and encodes the events after a position, once for all streams at that position. */
export function openFrames(means: Means) {
  const next = openNext(means)

  async function read(seen: Seen, position: Position): Promise<Frames> {
    const { projectId, version } = seen
    const { seq: after, id: afterId } = position
    const upTo = Math.min(version, after + mostAtOnce)
    const events = await next({ projectId, after, afterId, upTo, limit: mostAtOnce })
    const framed = events.map((event) => {
      const data = JSON.stringify(eventView.of(event))
      return { type: event.type, text: `id: ${event.seq}\nevent: ${event.type}\ndata: ${data}\n\n` }
    })
    const bytes = encode(framed.map(({ text }) => text).join(''))
    const last = events.at(-1)
    const end = last ? { seq: last.seq, id: last.id } : position
    return { events: framed, bytes, end, seenBy: openSeenBy(means, projectId, last) }
  }

  const kept = new LRUCache<string, Frames, { seen: Seen; position: Position }>({
    ...{ maxSize: keptBytes, ttl: keptMs, ignoreFetchAbort: true },
    sizeCalculation: ({ bytes }) => ownBytes + 3 * bytes.length,
    fetchMethod: (_key, _stale, { context: { seen, position } }) => read(seen, position),
  })
  return async (seen: Seen, position: Position): Promise<Frames> => {
    if (means.followers.countOf(seen.projectId) < 2) return read(seen, position)
    // With the event's id: after a failover the log may go on otherwise.
    const key = `${seen.projectId} ${position.seq} ${position.id}`
    const frames = (await kept.fetch(key, { context: { seen, position } }))!
    if (frames.events.length === 0) kept.delete(key)
    return frames
  }
}

function openSeenBy(
  { findRole, versions }: Pick<Services, 'findRole' | 'versions'>,
  projectId: string,
  last: ReadEvent | undefined,
) {
  const checks = new Map<string, Promise<Seen>>()
  async function check(caller: Caller): Promise<Seen> {
    // The project has moved on: to compare versions first would only take time.
    if (last) versions.heard({ projectId, version: last.seq, lastEventId: last.id })
    const seen = await findRole(caller, projectId)
    if (!seen) throw notFound('Project')
    return seen
  }
  return (caller: Caller): Promise<Seen> => {
    const holder = holderOf(caller)
    const seen = checks.get(holder) ?? check(caller)
    checks.set(holder, seen)
    return seen
  }
}
