import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { repeatedly } from '../repeatedly.ts'
import { within } from '../within.ts'
import type { Hints, Moved } from './hints.ts'
import { Lags } from './lags.ts'
import { openSeats } from './seats.ts'
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
  const waiting = new Waiting()
  const hear = (moved: Moved) => waiting.hear(moved)
  const look = openLook(sql, (moved) => waiting.see(moved))
  const lookSoon = batched({ keys: mostAsked, slots: 1 }, look)
  let isEnded = false
  const lookAtAll = inRounds(hints, () => inParts(waiting.projects(), look))
  const stop = repeatedly(lookAtAll, askEveryMs, log)

  return {
    /** Resolves when the project has moved beyond a version, when the time is up or the signal comes. */
    async moved(beyond: Moved, withinMs: number, signal: AbortSignal): Promise<void> {
      if (isEnded || signal.aborted) return
      hints.listen(hear)
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = () => resolve()
      const leave = waiting.join(beyond, wake)
      signal.addEventListener('abort', wake)
      lookSoon(beyond.projectId).catch(() => {}) // it may have moved just before
      await within(withinMs, promise)
      signal.removeEventListener('abort', wake)
      leave()
    },
    /** A place for who follows, until it is given back, and how many are taken. @throws Refusal 429 or 503 */
    ...openSeats(config),
    lags: new Lags(),
    hasEnded: () => isEnded,
    /** Nobody waits here any more. */
    end(): void {
      isEnded = true
      void stop()
      waiting.wakeAll()
    },
  }
}

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
