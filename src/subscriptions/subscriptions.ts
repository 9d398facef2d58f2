import { openConcurrencyLimit } from '../admission/fair-queue.ts'
import type { Config } from '../config.ts'
import type { Log } from '../logger.ts'
import { grouped } from '../postgres/grouped.ts'
import type { Sql } from '../postgres/database.ts'
import { repeatedly } from '../waits.ts'
import type { Notifications, ProjectVersion } from './notifications.ts'
import { endAtAbort, Subscribers, type Subscription } from './subscription.ts'
import { openVisibleProjects } from './visible-projects.ts'

const maxProjects = 1_000
/** Without Redis, versions are polled this often. With Redis, a quarter as often, because notifications rarely fail. */
const pollEveryMs = 500
const roundsPerPoll = 4

export function openSubscriptions(
  sql: Sql,
  notifications: Notifications,
  config: Pick<Config, 'subscribers' | 'subscribersPerAccount'>,
  log: Log,
) {
  const subscribers = new Subscribers()
  const visibleProjects = openVisibleProjects(sql)
  notifications.listen((changed) => {
    subscribers.notifyNewer(changed)
    visibleProjects.onNotification(changed)
  })
  async function poll(ids: string[]): Promise<void> {
    for (let i = 0; i < ids.length; i += maxProjects) {
      const some = ids.slice(i, i + maxProjects)
      const rows = await sql<ProjectVersion[]>`
        select project_id, version::float8 as version from streams where project_id = any(${some}::uuid[])`
      for (const changed of rows) subscribers.notifyChanged(changed)
    }
  }
  const pollSoon = grouped({ keys: maxProjects, slots: 1 }, async (lists: string[][]) => {
    await poll([...new Set(lists.flat())])
    return lists
  })
  let round = 0
  const pollAll = async () => {
    if (round++ % roundsPerPoll > 0 && notifications.isSubscribed) return
    await poll(subscribers.keys())
    await visibleProjects.refreshAll()
  }
  const stop = repeatedly(pollAll, pollEveryMs, log)
  const { subscribers: ofAll, subscribersPerAccount: ofAccount } = config
  let isEnded = false
  return {
    /** Subscribes until the signal aborts. With several projects, a change of any project ends a wait without a version. */
    subscribe(projects: ProjectVersion[], signal: AbortSignal): Subscription {
      const subscription = subscribers.subscribe(projects)
      endAtAbort(subscription, signal)
      // A project may have changed just before the subscription.
      pollSoon(projects.map(({ projectId }) => projectId)).catch(() => {})
      return subscription
    },
    countOf: subscribers.countOf,
    subscribeToAll: visibleProjects.subscribe,
    ...openConcurrencyLimit({ what: 'requests that wait for events', ofAll, ofAccount }),
    lags: new Lags(),
    hasEnded: () => isEnded,
    end(): void {
      isEnded = true
      void stop()
      subscribers.wakeAll()
      visibleProjects.wakeAll()
    },
  }
}

/** How many events a stream has not sent yet, and how long it has been behind. Computed when the metrics are read. */
class Lag {
  private behindSince = 0
  private version = 0

  constructor(
    private readonly subscription: Pick<Subscription, 'notified'>,
    private position: number,
  ) {}

  update(position: number, version: number): void {
    this.position = position
    this.version = version
    this.measure()
  }

  measure(): { events: number; seconds: number } {
    const events = Math.max(0, this.version - this.position, this.subscription.notified - this.position)
    const now = performance.now()
    this.behindSince = events > 0 ? this.behindSince || now : 0
    return { events, seconds: events > 0 ? (now - this.behindSince) / 1_000 : 0 }
  }
}

export class Lags {
  private readonly all = new Set<Lag>()

  /** @param signal aborts when the stream ends. @param position the seq after which the stream begins */
  track(signal: AbortSignal, subscription: Pick<Subscription, 'notified'>, position: number): Lag {
    const lag = new Lag(subscription, position)
    if (!signal.aborted) this.all.add(lag)
    signal.addEventListener('abort', () => this.all.delete(lag), { once: true })
    return lag
  }

  worst(): { streams: number; events: number; seconds: number } {
    const all = Array.from(this.all, (lag) => lag.measure())
    const worst = (of: 'events' | 'seconds') => all.reduce((max, lag) => Math.max(max, lag[of]), 0)
    return { streams: all.length, events: worst('events'), seconds: worst('seconds') }
  }
}
