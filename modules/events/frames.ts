import { LRUCache } from 'lru-cache'
import { type Caller, holderOf } from '../../src/identity/caller.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { openNext } from './ranges.ts'
import { eventView } from './schema.ts'
import type { Position } from './see-again.ts'
import type { ReadEvent } from './views.ts'
import { encode } from '../../src/wire/server-sent.ts'

/** Events of a stretch, at most. */
const mostAtOnce = 100
/** What is kept for those who listen at the same place, and how long. */
const keptBytes = 33_554_432
const keptMs = 2_000
/** What a stretch takes besides. */
const unread = 500

/** A stretch of a feed as streams send it. */
export interface Frames {
  events: { type: string; text: string }[]
  /** All of them. */
  bytes: Uint8Array<ArrayBuffer>
  end: Position
  /** What a caller may see, asked after it was read, once for all their streams. @throws Refusal 404 */
  seenBy(caller: Caller): Promise<Seen>
}

type Means = Pick<
  Services,
  'authenticate' | 'database' | 'findRole' | 'followers' | 'oldestKept' | 'recent' | 'versions'
>

/** Reads and encodes what comes after a position, once for all who listen there. */
export function openFrames(means: Means) {
  const kept = new LRUCache<string, Promise<Frames>>({ maxSize: keptBytes, ttl: keptMs })
  const next = openNext(means)
  const seenIn = openSeenIn(means)

  async function read(seen: Seen, position: Position): Promise<Frames> {
    const { projectId, version } = seen
    const { seq: after, id: afterId } = position
    const events = await next({ projectId, after, afterId, upTo: Math.min(version, after + mostAtOnce) })
    const framed = events.map((event) => {
      const data = JSON.stringify(eventView.of(event))
      return { type: event.type, text: `id: ${event.seq}\nevent: ${event.type}\ndata: ${data}\n\n` }
    })
    const bytes = encode(framed.map(({ text }) => text).join(''))
    const last = events.at(-1)
    const end = last ? { seq: last.seq, id: last.id } : position
    return { events: framed, bytes, end, seenBy: seenIn(projectId, last) }
  }

  return (seen: Seen, position: Position): Promise<Frames> => {
    if (means.followers.countOf(seen.projectId) < 2) return read(seen, position)
    // By the event too: where some were lost, what another history goes on with is not theirs.
    const key = `${seen.projectId} ${position.seq} ${position.id}`
    const known = kept.get(key)
    if (known) return known
    const made = read(seen, position)
    kept.set(key, made, { size: unread })
    made.then(
      ({ bytes, events }) =>
        events.length > 0 ? kept.set(key, made, { size: unread + 3 * bytes.length }) : kept.delete(key),
      () => kept.delete(key),
    )
    return made
  }
}

/** Looks at what each caller may see in a project, once from now on. */
const openSeenIn =
  ({ findRole, versions }: Pick<Services, 'findRole' | 'versions'>) =>
  (projectId: string, last: ReadEvent | undefined) => {
    const looks = new Map<string, Promise<Seen>>()
    const look = async (caller: Caller): Promise<Seen> => {
      // It has moved: to ask whether it has would only take time.
      if (last) versions.heard({ projectId, version: last.seq, lastEventId: last.id })
      const seen = await findRole(caller, projectId)
      if (!seen) throw notFound('Project')
      return seen
    }
    return (caller: Caller): Promise<Seen> => {
      const holder = holderOf(caller)
      const known = looks.get(holder)
      if (known) return known
      const seen = look(caller)
      looks.set(holder, seen)
      seen.catch(() => looks.delete(holder))
      return seen
    }
  }
