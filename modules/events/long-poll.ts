import type { Reading } from '../../src/commands/query.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { costOfLooking, eventsAt, lookedAt } from './pages.ts'
import type { Asked } from './parameters.ts'
import { openReauthorize } from './reauthorize.ts'

type Means = Pick<Services, 'authenticate' | 'findRole' | 'followers' | 'oldestKept' | 'spend'>

/**
 * Holds a request until there are events for it, or its time is up. The reader is authorized again at each wake-up.
 * Returns what the reader may see by then.
 * @throws Refusal 400, 401, 404, 410, 429 or 503
 */
export function openLongPoll(means: Means) {
  const { followers, oldestKept, spend } = means
  const reauthorize = openReauthorize(means)
  return async (reading: Reading, first: Seen, asked: Asked): Promise<Seen> => {
    const { request, caller } = reading
    const { after, types } = asked
    const until = performance.now() + asked.waitMs
    const leftMs = () => until - performance.now()
    let seen = first
    let quietUpTo = after

    const hasNews = async (): Promise<boolean> => {
      const { projectId, version } = seen
      if (!types || version - after > lookedAt) return version > after
      const place = { projectId, version, after: quietUpTo, types, limit: 1 }
      const cost = costOfLooking(version - quietUpTo)
      const { events } = await spend(caller, cost, (sql) => eventsAt(sql, oldestKept, place))
      quietUpTo = version
      return events.length > 0
    }

    if (await hasNews()) return seen
    const leave = followers.acquire(caller.userId)
    const following = followers.follow([seen], request.signal)
    reading.turn.end()
    try {
      while (leftMs() > 0 && !followers.hasEnded() && !request.signal.aborted) {
        await following.moved(seen.version, leftMs())
        following.forget(seen.version) // it may be lost after a failover
        seen = await reauthorize(reading, first.projectId, { seq: after })
        if (await hasNews()) break
      }
      return seen
    } finally {
      following.end()
      leave()
    }
  }
}
