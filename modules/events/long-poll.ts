import type { ReadRequest } from '../../src/commands/query.ts'
import type { ProjectVersion } from '../../src/subscriptions/notifications.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import type { Services } from '../../src/services.ts'
import { type EventFilter, hasFilter, scanCost, readEventPage, maxScannedEvents } from './rows.ts'
import { aheadOfProject, type FeedQuery } from './parameters.ts'

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

/** Waits until the feed has events of the requested types, and returns the project as read after the wait. */
export function openFeedLongPoll(
  services: Pick<Services, 'authenticate' | 'findRole' | 'subscriptions' | 'oldestSeq' | 'charge'>,
) {
  const { findRole, oldestSeq, charge } = services
  const longPoll = openLongPoll(services)
  return (
    reading: ReadRequest,
    first: VisibleProject,
    { after, types, exceptActor, waitMs }: EventFilter & Pick<FeedQuery, 'after' | 'waitMs'>,
  ): Promise<VisibleProject> => {
    let scannedUpTo = after
    return longPoll(reading, first, {
      waitMs,
      projectsOf: (project) => [project],
      async hasEvents({ projectId, version }) {
        const slice = { projectId, version, after: scannedUpTo, types, exceptActor, limit: 1 }
        if (!hasFilter(slice) || version - after > maxScannedEvents) return version > after
        const cost = scanCost(version - scannedUpTo)
        const { events } = await charge(reading.caller, cost, (sql) => readEventPage(sql, oldestSeq, slice))
        scannedUpTo = version
        return events.length > 0
      },
      async reload(caller) {
        const project = await requireVisible(findRole, caller, first.projectId)
        // After a failover that lost events, the version may be lower than `after`.
        if (after > project.version) throw aheadOfProject()
        return project
      },
    })
  }
}
