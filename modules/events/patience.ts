import type { Reading } from '../../src/commands/query.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import type { Asked } from './parameters.ts'
import { costOfLooking, eventsAt, lookedAt } from './queries.ts'
import { openSeeAgain } from './see-again.ts'

type Means = Pick<Services, 'authenticate' | 'findRole' | 'followers' | 'oldestKept' | 'spend'>

/**
 * Holds who asks for what has not happened yet: until there is something for them, or their time is up. Whether they may
 * still see it is asked whenever they are woken. Gives what they may see by then.
 * @throws Refusal 400, 401, 404, 410, 429 or 503
 */
export function openPatience(means: Means) {
  const { followers } = means
  const seeAgain = openSeeAgain(means)
  return async (reading: Reading, first: Seen, asked: Asked): Promise<Seen> => {
    const { request, caller } = reading
    const until = performance.now() + asked.waitMs
    let seen = first
    let quietUpTo = asked.after

    const hasNews = async (): Promise<boolean> => {
      if (!asked.types || seen.version - asked.after > lookedAt) return seen.version > asked.after
      const cost = costOfLooking(seen.version - quietUpTo)
      const { events } = await means.spend(caller, cost, (sql) =>
        eventsAt({ ...means, sql }, seen, { ...asked, after: quietUpTo, limit: 1 }),
      )
      quietUpTo = seen.version
      return events.length > 0
    }

    if (await hasNews()) return seen
    const leave = followers.acquire(caller.userId)
    reading.turn.end()
    try {
      for (;;) {
        const leftMs = until - performance.now()
        if (leftMs <= 0 || followers.hasEnded() || request.signal.aborted) return seen
        await followers.moved([seen], leftMs, request.signal)
        seen = await seeAgain(reading, first.projectId, { seq: asked.after })
        if (await hasNews()) return seen
      }
    } finally {
      leave()
    }
  }
}
