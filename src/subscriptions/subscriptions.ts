import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { repeatedly } from '../repeatedly.ts'
import type { Hints, Moved } from './hints.ts'
import { Following, Waiting } from './following.ts'
import { Lags } from './lags.ts'
import { openConcurrencyLimit } from '../admission/concurrency-limit.ts'
import { Standings } from './standings.ts'

/** Projects whose versions are read at once, at most. */
const mostAsked = 1_000
/** How often versions are read while hints do not arrive; while they do, in one of so many rounds, for some get lost. */
const askEveryMs = 500
const heardRounds = 4

export type Subscriptions = ReturnType<typeof openSubscriptions>

/** Notifies readers of projects that move on: by hints, and by reading the versions now and then. */
export function openSubscriptions(
  sql: Sql,
  hints: Hints,
  config: Pick<Config, 'subscribers' | 'subscribersPerAccount'>,
  log: Log,
) {
  const waiting = new Waiting()
  const standings = new Standings(sql)
  const hear = (moved: Moved) => {
    waiting.hear(moved)
    standings.hear(moved)
  }
  const { look, lookSoon } = openLook(sql, waiting)
  let round = 0
  const lookAtAll = async () => {
    if (round++ % heardRounds > 0 && hints.areHeard) return
    await look(waiting.keys())
    await standings.lookAtAll()
  }
  const stop = repeatedly(lookAtAll, askEveryMs, log)
  const { subscribers: ofAll, subscribersPerAccount: ofAccount } = config
  let isEnded = false
  return {
    follow: openFollow(waiting, lookSoon, () => hints.listen(hear)),
    countOf: waiting.countOf,
    listen(userId: string, signal: AbortSignal) {
      hints.listen(hear)
      return standings.join(userId, signal)
    },
    ...openConcurrencyLimit({ what: 'requests that wait for events', ofAll, ofAccount }),
    lags: new Lags(),
    hasEnded: () => isEnded,
    end(): void {
      isEnded = true
      void stop()
      waiting.wakeAll()
      standings.wakeAll()
    },
  }
}

type LookSoon = ReturnType<typeof openLook>['lookSoon']

/** Follows projects until the signal comes or the caller ends it. Of several, each that moves puts the version in doubt. */
const openFollow =
  (waiting: Waiting, lookSoon: LookSoon, listen: () => void) =>
  (projects: Moved[], signal: AbortSignal): Following => {
    listen()
    const following = new Following(projects[0]?.version ?? 0, () => leaves.forEach((leave) => leave()))
    const wake = () => following.wake()
    const leaves = projects.map(({ projectId, version }) =>
      waiting.add(projectId, projects.length === 1 ? following : { beyond: version, wake }),
    )
    if (signal.aborted) following.end()
    else signal.addEventListener('abort', following.end, { once: true })
    lookSoon(projects.map(({ projectId }) => projectId)).catch(() => {}) // one may have moved just before
    return following
  }

function openLook(sql: Sql, waiting: Waiting) {
  async function look(ids: string[]): Promise<void> {
    for (let i = 0; i < ids.length; i += mostAsked) {
      const some = ids.slice(i, i + mostAsked)
      const rows = await sql<Moved[]>`
        select project_id, version::float8 as version from streams where project_id = any(${some}::uuid[])`
      for (const moved of rows) waiting.see(moved)
    }
  }
  const lookSoon = batched({ keys: mostAsked, slots: 1 }, async (asked: string[][]) => {
    await look([...new Set(asked.flat())])
    return asked
  })
  return { look, lookSoon }
}
