import { unavailable } from '../../src/wire/refusals.ts'
import type { Reading } from '../../src/commands/query.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { type Frames, openFrames } from './frames.ts'
import { openSeeAgain } from './see-again.ts'
import { beginning, type Chunks, encode, nothingNew, silentMs } from '../../src/wire/server-sent.ts'

/** After how many events that are not for it a stream is told its place. */
const mostUntold = 1_000

type Means = Pick<Services, 'authenticate' | 'database' | 'findRole' | 'followers' | 'oldestKept'>

/** Where a stream begins, and what it shows. */
export interface Start {
  seen: Seen
  after: number
  types: string[] | null
}

/** What a stream of one project sends. Whether its reader may see it is asked after it was read and before it is sent. */
export function openFollow(means: Means) {
  const { authenticate, followers } = means
  const framesAfter = openFrames(means)
  const seeAgain = openSeeAgain(means)

  return async function* follow(reading: Reading, start: Start, signal: AbortSignal): Chunks {
    const { request } = reading
    let { seen, after: position } = start
    let [told, saidAt, lag] = [position, performance.now(), followers.lags.begin(signal)]
    yield beginning(idOf(position))
    while (!signal.aborted) {
      lag.at(position, seen.version) // what was yielded is taken by now
      if (followers.hasEnded()) throw unavailable('This process ends')
      if (position < seen.version) {
        const frames = await framesAfter(seen, position)
        seen = newer(seen, await frames.seenBy(await authenticate.caller(request)))
        position = frames.upTo
        const isLongUntold = position - told > mostUntold
        const chunk = shownOf(frames, start.types) ?? (isLongUntold ? nothingNew(idOf(position)) : null)
        if (!chunk) continue
        yield chunk
      } else {
        const leftMs = saidAt + silentMs - performance.now()
        if (leftMs > 0) {
          const version = await followers.moved([seen], leftMs, signal)
          const isNewer = version !== undefined && version > seen.version
          seen = isNewer ? { ...seen, version } : await seeAgain(reading, seen.projectId, position)
          continue
        }
        yield nothingNew(idOf(position))
      }
      ;[told, saidAt] = [position, performance.now()]
    }
  }
}

/** Alone it is no event: clients resume there. */
const idOf = (position: number) => `id: ${position}\n`

/** What was looked at for many may be older than what one knows. */
const newer = (one: Seen, other: Seen): Seen => (one.version > other.version ? one : other)

function shownOf({ events, bytes }: Frames, types: string[] | null) {
  if (!types) return bytes.length > 0 ? bytes : null
  const text = events.flatMap((event) => (types.includes(event.type) ? event.text : [])).join('')
  return text ? encode(text) : null
}
