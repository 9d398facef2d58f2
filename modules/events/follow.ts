import type { Made } from '../../src/commit/recent.ts'
import { unavailable } from '../../src/wire/refusals.ts'
import type { Reading } from '../../src/commands/query.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { type Frames, openFrames } from './frames.ts'
import { lastEventIdHeader } from './parameters.ts'
import { openReauthorize, openStillSeen, type Position } from './reauthorize.ts'
import { beginning, type Chunks, encode, nothingNew, silentMs } from '../../src/wire/server-sent.ts'

/** After how many events that are not for it a stream is told its place. */
const mostUntold = 1_000

type Means = Pick<
  Services,
  'authenticate' | 'database' | 'findRole' | 'followers' | 'oldestKept' | 'recent' | 'versions'
>

/** Where a stream begins, and what it shows. */
export interface Start {
  seen: Seen
  after: number
  types: string[] | null
}

/** What a stream of one project sends. Whether its reader may see it is known before it is sent. */
export function openFollow(means: Means) {
  const { followers } = means
  const framesAfter = openFrames(means)
  const reauthorize = openReauthorize(means, lastEventIdHeader)
  const stillSeen = openStillSeen(means)

  return async function* follow(reading: Reading, start: Start, signal: AbortSignal): Chunks {
    let { seen } = start
    let position: Position = { seq: start.after, id: idAt(seen, start.after) }
    const following = followers.follow([seen], signal)
    let held: Made = seen
    const lag = followers.lags.begin(signal, following, position.seq)
    let [told, saidAt] = [position.seq, performance.now()]
    yield beginning(idOf(position.seq))
    while (!signal.aborted) {
      lag.at(position.seq, seen.version) // what was yielded is taken by now
      if (followers.hasEnded()) throw unavailable('This process ends')
      if (position.seq < seen.version) {
        const frames = await framesAfter(seen, position)
        ;({ seen, held } = await stillSeen(reading, { seen, held, position }, frames, following))
        position = frames.end
        const isLongUntold = position.seq - told > mostUntold
        const chunk = shownOf(frames, start.types) ?? (isLongUntold ? nothingNew(idOf(position.seq)) : null)
        if (!chunk) continue
        yield chunk
      } else {
        const leftMs = saidAt + silentMs - performance.now()
        if (leftMs > 0) {
          const version = await following.moved(seen.version, leftMs)
          seen = version ? { ...seen, version } : await reauthorize(reading, seen.projectId, position)
          if (!version) held = seen // which may be one that was before, where some were lost
          continue
        }
        yield nothingNew(idOf(position.seq))
      }
      ;[told, saidAt] = [position.seq, performance.now()]
    }
  }
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
