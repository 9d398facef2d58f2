import type { VersionRef } from '../../src/commit/recent-commits.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import type { Following } from '../../src/subscriptions/following.ts'
import { requireSeen, type Seen } from '../../src/reads/lookups.ts'
import type { Services } from '../../src/services.ts'
import { unavailable } from '../../src/responses/errors.ts'
import {
  streamStart,
  type Chunks,
  encode,
  heartbeat,
  heartbeatMs,
} from '../../src/responses/server-sent-events.ts'
import { type Frames, openFrames, type Position } from './frames.ts'
import { ahead, type Asked, lastEventIdHeader } from './parameters.ts'

/** After so many events of other types a stream is sent its place. */
const mostUntold = 1_000

/** A stream's reader: what the reader may see, up to which version certainly all, and where the reader is. */
interface Sight {
  seen: Seen
  held: VersionRef
  position: Position
}

/** Streams the events of one project. Each is sent only after the rights of its reader were checked. */
export function openFollow(services: Services) {
  const { subscriptions } = services
  const framesAfter = openFrames(services)
  const stillSeen = openStillSeen(services)

  return async function* follow(read: ReadRequest, first: Seen, asked: Asked, signal: AbortSignal): Chunks {
    let [seen, held]: [Seen, VersionRef] = [first, first]
    let position: Position = { seq: asked.after, id: idAt(seen, asked.after) }
    const following = subscriptions.follow([seen], signal)
    const lag = subscriptions.lags.begin(signal, following, position.seq)
    let [told, saidAt] = [position.seq, performance.now()]
    yield streamStart(idOf(position.seq))
    while (!signal.aborted) {
      lag.at(position.seq, seen.version) // what was yielded is taken by now
      if (subscriptions.hasEnded()) throw unavailable('This process ends')
      if (position.seq < seen.version) {
        const frames = await framesAfter(seen, position)
        ;({ seen, held } = await stillSeen(read, { seen, held, position }, frames, following))
        position = frames.end
        const isLongUntold = position.seq - told > mostUntold
        const chunk = shownOf(frames, asked.types) ?? (isLongUntold ? heartbeat(idOf(position.seq)) : null)
        if (!chunk) continue
        yield chunk
      } else {
        const leftMs = saidAt + heartbeatMs - performance.now()
        if (leftMs > 0) {
          const version = await following.moved(seen.version, leftMs)
          seen = version ? { ...seen, version } : await reauthorize(services, read, seen.projectId, position)
          if (!version) held = seen // which may be an older one, where events were lost
          continue
        }
        yield heartbeat(idOf(position.seq))
      }
      ;[told, saidAt] = [position.seq, performance.now()]
    }
  }
}

/**
 * Checks that a reader may see what was read for them. Roles are read again unless all changes since the last check were
 * committed by this process just now, and none changed a role.
 * @throws HttpError 400, 401 or 404
 */
export function openStillSeen(means: Pick<Services, 'authenticate' | 'findRole' | 'recent'>) {
  return async (
    reading: ReadRequest,
    { seen, held, position }: Sight,
    frames: Frames,
    following: Following,
  ): Promise<Omit<Sight, 'position'>> => {
    if (frames.end.seq === position.seq) {
      // Nothing was read: the stream may have been notified of events that are lost.
      following.forget(position.seq)
      const now = await reauthorize(means, reading, seen.projectId, position)
      return { seen: now, held: now }
    }
    const caller = await means.authenticate.caller(reading.request)
    const plain = means.recent.sameRightsSince(seen.projectId, held)
    if (plain && plain.version >= Math.max(frames.end.seq, seen.version, following.beyond))
      return { seen, held: plain }
    const now = await frames.seenBy(caller)
    // The shared check may be older than this reader's own.
    return { seen: seen.version > now.version ? seen : now, held: now }
  }
}

/**
 * Checks token and role of a reader who waited, and that the reader's events were not lost in a failover or a restore.
 * @throws HttpError 400, 401 or 404
 */
async function reauthorize(
  { authenticate, findRole }: Pick<Services, 'authenticate' | 'findRole'>,
  { request }: ReadRequest,
  projectId: string,
  { seq, id }: Position,
): Promise<Seen> {
  const seen = await requireSeen(findRole, await authenticate.caller(request), projectId)
  const { version } = seen
  if (seq > version || (id !== undefined && id !== (idAt(seen, seq) ?? id))) throw ahead(lastEventIdHeader)
  return seen
}

/** The event that made a version, if it is the one seen. */
const idAt = ({ version, lastEventId }: Seen, seq: number) => (seq === version ? lastEventId : undefined)

/** Alone it is no event: clients resume there. */
const idOf = (position: number) => `id: ${position}\n`

function shownOf({ events, bytes }: Frames, types: string[] | null) {
  if (!types) return bytes.length > 0 ? bytes : null
  const text = events.flatMap((event) => (types.includes(event.type) ? event.text : [])).join('')
  return text ? encode(text) : null
}
