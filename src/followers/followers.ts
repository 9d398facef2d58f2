import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { repeatedly } from '../repeatedly.ts'
import type { Hints, Moved } from './hints.ts'
import { Following } from './following.ts'
import { Lags } from './lags.ts'
import { openConcurrencyLimit } from '../admission/concurrency-limit.ts'
import { Standings } from './standings.ts'
import { Waiting } from './waiting.ts'

/** Projects whose versions are asked for at once, at most. */
const mostAsked = 1_000
/** How often versions are asked for while no hints are heard; while they are, in one round of so many, for some get lost. */
const askEveryMs = 500
const heardRounds = 4

export type Followers = ReturnType<typeof openFollowers>

/** Wakes who waits for a project to move on: at a hint, or once its version is found to be another. */
export function openFollowers(
  sql: Sql,
  hints: Hints,
  config: Pick<Config, 'followers' | 'followersPerCaller'>,
  log: Log,
) {
  const { waiting, standings, hear, look, stop } = openHearing(sql, hints, log)
  const lookSoon = openLookSoon(look)
  const moved = openMoved(waiting, lookSoon)
  const { followers: ofAll, followersPerCaller: ofAccount } = config
  const limit = openConcurrencyLimit({ what: 'requests that wait for events', ofAll, ofAccount })
  let isEnded = false
  return {
    /** The version that one of the projects has, when it is another than it was; none when the time is up or the signal comes. */
    async moved(beyond: Moved[], withinMs: number, signal: AbortSignal): Promise<number | undefined> {
      if (isEnded || signal.aborted) return undefined
      hints.listen(hear)
      return moved(beyond, withinMs, signal)
    },
    follow: openFollow(waiting, lookSoon, () => hints.listen(hear)),
    countOf: (projectId: string) => waiting.countOf(projectId),
    /** One who listens to all projects of a user: see Standing. */
    listen(userId: string) {
      hints.listen(hear)
      return standings.join(userId)
    },
    ...limit,
    lags: new Lags(),
    hasEnded: () => isEnded,
    /** Nobody waits here any more. */
    end(): void {
      isEnded = true
      void stop()
      waiting.wakeAll()
      standings.wakeAll()
    },
  }
}

/** What is heard goes to all who wait or listen; and all that they wait for is looked at now and then. */
function openHearing(sql: Sql, hints: Hints, log: Log) {
  const waiting = new Waiting()
  const standings = new Standings(sql)
  const hear = (moved: Moved) => {
    waiting.hear(moved)
    standings.hear(moved)
  }
  const look = openLook(sql, (moved) => waiting.see(moved))
  const lookAtAll = async () => {
    await inParts(waiting.projects(), look)
    await standings.lookAtAll()
  }
  const stop = repeatedly(inRounds(hints, lookAtAll), askEveryMs, log)
  return { waiting, standings, hear, look, stop }
}

const openMoved =
  (waiting: Waiting, lookSoon: LookSoon) =>
  async (beyond: Moved[], withinMs: number, signal: AbortSignal): Promise<number | undefined> => {
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    const wake = (version?: number | Event) => resolve(typeof version === 'number' ? version : undefined)
    const leave = waiting.join(beyond, wake)
    signal.addEventListener('abort', wake)
    lookSoon(beyond.map(({ projectId }) => projectId)).catch(() => {}) // it may have moved just before
    const timer = setTimeout(wake, withinMs)
    const version = await promise
    clearTimeout(timer)
    signal.removeEventListener('abort', wake)
    leave()
    return version
  }

/** One who follows a project until the signal comes. */
const openFollow =
  (waiting: Waiting, lookSoon: LookSoon, listen: () => void) =>
  ({ projectId, version }: Moved, signal: AbortSignal): Following => {
    listen()
    const following = new Following(version)
    const leave = waiting.add(projectId, following)
    const end = () => {
      leave()
      following.end()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    lookSoon([projectId]).catch(() => {}) // it may have moved just before
    return following
  }

type LookSoon = ReturnType<typeof openLookSoon>

const openLookSoon = (look: (ids: string[]) => Promise<unknown>) =>
  batched(
    { keys: mostAsked, weigh: { limit: mostAsked, of: (ids: string[]) => ids.length }, slots: 1 },
    async (asked: string[][]) => {
      await look([...new Set(asked.flat())])
      return asked
    },
  )

/** Looks which versions projects have by now. */
const openLook = (sql: Sql, see: (moved: Moved) => void) => async (ids: string[]) => {
  const rows = await sql<Moved[]>`
    select project_id, version::float8 as version from streams where project_id = any(${ids}::uuid[])`
  return rows.map(see)
}

async function inParts(ids: string[], look: (ids: string[]) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < ids.length; i += mostAsked) await look(ids.slice(i, i + mostAsked))
}

/** Looks in every round while no hints are heard, else in one of so many. */
function inRounds(hints: Hints, look: () => Promise<void>): () => Promise<void> {
  let round = 0
  return async () => {
    const isDue = round++ % heardRounds === 0
    if (isDue || !hints.areHeard) await look()
  }
}
