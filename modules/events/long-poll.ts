import type { ReadRequest } from '../../src/commands/query.ts'
import type { ProjectVersion } from '../../src/subscriptions/notifications.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Services } from '../../src/services.ts'
import { type EventFilter, hasFilter, maxScannedEvents, readRanges, scanCost } from './rows.ts'

/** `slots`: the long poll counts as this many subscribers of the account. */
interface LongPoll<S> {
  waitMs: number
  slots?: number
  projectsOf(state: S): ProjectVersion[]
  hasEvents(state: S): boolean | Promise<boolean>
  reload(caller: Caller): Promise<S>
}

/** Waits at most `waitMs` for events, and returns the last state. Each notification authenticates the caller again. */
export const openLongPoll =
  ({ authenticate, subscriptions }: Pick<Services, 'authenticate' | 'subscriptions'>) =>
  async <S>({ request, caller, permit }: ReadRequest, first: S, poll: LongPoll<S>): Promise<S> => {
    const until = performance.now() + poll.waitMs
    if (await poll.hasEvents(first)) return first
    const release = subscriptions.acquire(caller.userId, poll.slots)
    const subscription = subscriptions.subscribe(poll.projectsOf(first), request.signal)
    permit.release()
    try {
      for (let state = first; ;) {
        const leftMs = until - performance.now()
        if (leftMs <= 0 || subscriptions.hasEnded() || request.signal.aborted) return state
        const version = poll.projectsOf(state)[0]?.version ?? 0
        await subscription.waitForNewer(version, leftMs)
        // A failover may have lost events, so that new events reuse their seqs.
        subscription.resetTo(version)
        state = await poll.reload(await authenticate.caller(request))
        if (await poll.hasEvents(state)) return state
      }
    } finally {
      subscription.end()
      release()
    }
  }

/** Returns a function that is true if projects have matching events after the positions. It scans each event at most once. */
export function openHasMatches(
  { charge }: Pick<Services, 'charge'>,
  caller: Caller,
  filter: EventFilter,
  positions: ReadonlyMap<string, number>,
) {
  const scannedUpTo = new Map(positions)
  return async (projects: ProjectVersion[]): Promise<boolean> => {
    const ranges = projects.flatMap(({ projectId, version: upTo }) => {
      const after = scannedUpTo.get(projectId)!
      return upTo > after ? { ...filter, projectId, after, upTo, limit: 1 } : []
    })
    const count = ranges.reduce((sum, { after, upTo }) => sum + upTo - after, 0)
    if (count === 0 || !hasFilter(filter) || count > maxScannedEvents) return count > 0
    const found = await charge(caller, scanCost(count), (sql) => readRanges(sql, ranges, { events: 1 }))
    for (const { projectId, upTo } of ranges) scannedUpTo.set(projectId, upTo)
    return found.length > 0
  }
}
