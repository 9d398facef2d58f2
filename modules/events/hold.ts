import type { ReadRequest } from '../../src/commands/query.ts'
import type { Moved } from '../../src/subscriptions/hints.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { requireSeen, type Seen } from '../../src/reads/lookups.ts'
import type { Services } from '../../src/services.ts'
import { costOfLooking, eventsAt, lookedAt } from './pages.ts'
import { ahead, type Asked } from './parameters.ts'

/** How a held request reads its state, and recognizes news in it. */
export interface Wait<S> {
  waitMs: number
  seats?: number
  /** The projects to follow, each at its version in what was last looked at. */
  projectsOf(state: S): Moved[]
  hasNews(state: S): boolean | Promise<boolean>
  look(caller: Caller): Promise<S>
}

/**
 * Holds a request until there is news for it, or its time is up. The caller is authenticated again at each wake-up.
 * @throws HttpError 401, 429 or 503
 */
export const openHold =
  ({ authenticate, subscriptions }: Pick<Services, 'authenticate' | 'subscriptions'>) =>
  async <S>({ request, caller, permit }: ReadRequest, first: S, wait: Wait<S>): Promise<S> => {
    const until = performance.now() + wait.waitMs
    if (await wait.hasNews(first)) return first
    const leave = subscriptions.acquire(caller.userId, wait.seats)
    const following = subscriptions.follow(wait.projectsOf(first), request.signal)
    permit.release()
    try {
      for (let state = first; ;) {
        const leftMs = until - performance.now()
        if (leftMs <= 0 || subscriptions.hasEnded() || request.signal.aborted) return state
        const known = wait.projectsOf(state)[0]?.version ?? 0
        await following.moved(known, leftMs)
        following.forget(known) // after a failover the same version may be made again
        state = await wait.look(await authenticate.caller(request))
        if (await wait.hasNews(state)) return state
      }
    } finally {
      following.end()
      leave()
    }
  }

/**
 * Holds a read of one feed until there are events for it. Returns what the caller may see then.
 * @throws HttpError 400, 401, 404, 410, 429 or 503
 */
export function openLongPoll(
  services: Pick<Services, 'authenticate' | 'findRole' | 'subscriptions' | 'oldestKept' | 'spend'>,
) {
  const { findRole, oldestKept, spend } = services
  const hold = openHold(services)
  return (reading: ReadRequest, first: Seen, { after, types, waitMs }: Asked): Promise<Seen> => {
    let quietUpTo = after
    return hold(reading, first, {
      waitMs,
      projectsOf: (seen) => [seen],
      async hasNews({ projectId, version }) {
        if (!types || version - after > lookedAt) return version > after
        const place = { projectId, version, after: quietUpTo, types, limit: 1 }
        const cost = costOfLooking(version - quietUpTo)
        const { events } = await spend(reading.caller, cost, (sql) => eventsAt(sql, oldestKept, place))
        quietUpTo = version
        return events.length > 0
      },
      async look(caller) {
        const seen = await requireSeen(findRole, caller, first.projectId)
        if (after > seen.version) throw ahead() // events may be lost after a failover
        return seen
      },
    })
  }
}
