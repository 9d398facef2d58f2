import { reasons, Refusal, unavailable } from '../../src/wire/refusals.ts'
import type { Reading } from '../../src/commands/query.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { encode, type Frames, openFrames } from './frames.ts'
import { openSeeAgain } from './see-again.ts'

/** How long a stream may be silent, and after how many events that are not for it its place is told. */
const silentMs = 15_000
const mostUntold = 1_000
/** When who was cut comes back: not all at once. */
const retryMs = () => 500 + Math.floor(Math.random() * 2_500)

type Means = Pick<Services, 'authenticate' | 'database' | 'findRole' | 'followers' | 'oldestKept'>

/** Where a stream begins, and what it shows. */
export interface Start {
  seen: Seen
  after: number
  types: string[] | null
}

/**
 * What a stream sends, chunk by chunk, each read when the one before is sent: who reads slowly is only behind. Whether
 * its reader may see it is asked after it was read and before it is sent.
 */
export function openFollow(means: Means) {
  const { followers } = means
  const framesAfter = openFrames(means)
  const seeAgain = openSeeAgain(means)

  async function* chunks(reading: Reading, start: Start, signal: AbortSignal) {
    let { seen, after: position } = start
    let [told, saidAt, lag] = [position, performance.now(), followers.lags.begin(signal)]
    yield encode(`retry: ${retryMs()}\nid: ${position}\n\n`)
    while (!signal.aborted) {
      lag.at(position, seen.version) // what was yielded is taken by now
      if (followers.hasEnded()) throw unavailable('This process ends')
      if (position < seen.version) {
        const frames = await framesAfter(seen, position)
        seen = await seeAgain(reading, seen.projectId, position)
        position = frames.upTo
        const chunk = shownOf(frames, start.types) ?? (position - told > mostUntold ? place(position) : null)
        if (!chunk) continue
        yield chunk
      } else {
        const leftMs = saidAt + silentMs - performance.now()
        if (leftMs > 0) {
          await followers.moved(seen, leftMs, signal)
          seen = await seeAgain(reading, seen.projectId, position)
          continue
        }
        yield place(position)
      }
      ;[told, saidAt] = [position, performance.now()]
    }
  }

  return async function* follow(reading: Reading, start: Start, signal: AbortSignal) {
    try {
      yield* chunks(reading, start, signal)
    } catch (error) {
      yield encode(endOf(error instanceof Refusal ? error : unavailable('The stream cannot go on now')))
    }
  }
}

/** Says nothing but where the stream is, as a comment and an id alone: clients resume there. */
const place = (position: number) => encode(`: nothing new\nid: ${position}\n\n`)

function shownOf({ events, bytes }: Frames, types: string[] | null) {
  if (!types) return bytes
  const text = events.flatMap((event) => (types.includes(event.type) ? event.text : [])).join('')
  return text ? encode(text) : null
}

const endOf = ({ status, message }: Refusal): string =>
  `retry: ${retryMs()}\nevent: end\ndata: ${JSON.stringify({ statusCode: status, message, error: reasons[status] })}\n\n`
