import type { Reading } from '../../src/commands/query.ts'
import { mostTold } from '../../src/followers/standing.ts'
import { reaches } from '../../src/identity/rights.ts'
import type { Services } from '../../src/services.ts'
import { unavailable } from '../../src/wire/refusals.ts'
import { beginning, type Chunks, encode, nothingNew, silentMs } from '../../src/wire/server-sent.ts'

/**
 * What a stream of all projects of its reader sends: each with its version, and then those that have moved, came or went.
 * What is told was seen together with the right to see it; whether the token still holds is asked before it is sent.
 */
export function openOverview({ authenticate, followers }: Pick<Services, 'authenticate' | 'followers'>) {
  return async function* overview({ request, caller }: Reading, signal: AbortSignal): Chunks {
    if (followers.hasEnded()) throw unavailable('This process ends')
    const listener = await followers.listen(caller.userId, signal)
    yield beginning()
    let saidAt = performance.now()
    while (!signal.aborted) {
      if (followers.hasEnded()) throw unavailable('This process ends')
      const leftMs = saidAt + silentMs - performance.now()
      if (leftMs > 0) await listener.news(leftMs)
      const now = await authenticate.caller(request)
      const states = listener.take().filter(({ projectId }) => reaches(now, projectId))
      const text = states.map(messageOf).join('') + (listener.takeMore() ? more : '')
      if (!text && performance.now() < saidAt + silentMs) continue
      yield text ? encode(text) : nothingNew()
      saidAt = performance.now()
    }
  }
}

/** Without a name, so that `onmessage` of an EventSource hears it, and without an id, for there is no place to resume. */
const messageOf = (state: object): string => `data: ${JSON.stringify(state)}\n\n`

/** By a name, so that nobody takes it for a project. */
const more = `event: more\ndata: ${JSON.stringify({ told: mostTold })}\n\n`
