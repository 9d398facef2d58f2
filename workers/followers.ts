import { setTimeout as sleep } from 'node:timers/promises'
import { nilId } from '../src/id-format.ts'
import { newId } from '../src/ids.ts'
import type { Services } from '../src/services.ts'
import { repeatedly, throttle } from '../src/waits.ts'
import { reasonOf } from './throttle.ts'

const turnMs = 1_000

/** With Redis, one worker at a time has the turn. If several have it, they process the same changes: this only costs time. */
export function openTurn({ redis, config }: Services, name: string) {
  const [key, own] = [`${config.redisPrefix}:turn:${name}`, newId()]
  const take = async (): Promise<boolean> => {
    if (redis.status !== 'ready' || (await redis.set(key, own, 'PX', turnMs, 'NX'))) return true
    return (await redis.get(key)) === own && (await redis.pexpire(key, turnMs)) === 1
  }
  return () => take().catch(() => true)
}

/** Returns a function that logs a problem, at most once a minute. */
export const openWarn = ({ log }: Services, problem: string) =>
  throttle(60_000, (error: unknown) => log.warn({ reason: reasonOf(error) }, `${problem}; retrying`))

/** Projects with events to follow, and since when, in the order of these times. */
export type ChangedProjects = Map<string, number>

/** The maximum number of projects in memory. The sweep finds the projects that are left out. */
const maxChanged = 100_000
const sweepRows = 2_000
export const maxFollowed = 100
/** The pause in which changes collect, as a multiple of the time that the last step took. Many changes together cost less. */
const pauses = { factor: 3, maxMs: 300 }
const retryMs = 1_000

interface Follower {
  name: string
  /** The table of the last seqs that were followed. */
  cursors: 'search_cursors' | 'ready_cursors'
  everyMs: number
  changed: ChangedProjects
  /** Follows the logs of at most `maxFollowed` projects, and returns the projects that have more events. */
  follow(projectIds: string[]): Promise<string[]>
  warn(error: unknown): void
}

/** Follows the logs of all projects after a notification. The sweep compares cursors, because notifications may be lost. */
export function followLogs(services: Services, { name, cursors, everyMs, changed, follow, warn }: Follower) {
  const { config, database, notifications, log } = services
  const sql = database.background
  const hasTurn = openTurn(services, name)
  let [isStopping, sweptTo] = [false, nilId]
  const add = (projectId: string, since = performance.now()) => {
    if (changed.size < maxChanged && !changed.has(projectId)) changed.set(projectId, since)
  }
  const step = async () => {
    while (changed.size > 0 && !isStopping) {
      if (!(await hasTurn())) return changed.clear()
      const [startedAt, taken] = [performance.now(), [...changed.entries().take(maxFollowed)]]
      for (const [id] of taken) changed.delete(id)
      const left = await follow(taken.map(([id]) => id))
      // At the end, so that a project with many changes does not delay the others.
      for (const [id, since] of taken) if (left.includes(id)) add(id, since)
      const pauseMs = left.length > 0 ? 0 : (performance.now() - startedAt) * pauses.factor
      await sleep(Math.max(config.jobPauseMs, Math.min(pauseMs, pauses.maxMs)))
    }
  }
  const sweep = async () => {
    const rows = await sql<{ projectId: string; isBehind: boolean }[]>`
      select s.project_id, c.seq is distinct from s.version as is_behind from streams s
      left join ${sql(cursors)} c on c.project_id = s.project_id
      where s.project_id > ${sweptTo} order by s.project_id limit ${sweepRows}`
    for (const { projectId, isBehind } of rows) if (isBehind) add(projectId)
    sweptTo = rows.length === sweepRows ? rows.at(-1)!.projectId : nilId
  }
  const retrying = (work: () => Promise<void>) => () => work().catch((error) => (warn(error), sleep(retryMs)))
  const stops = [
    repeatedly(retrying(step), everyMs, log),
    repeatedly(retrying(sweep), config.sweepEveryMs, log),
    notifications.listen(({ projectId }) => add(projectId)),
  ]
  return async (): Promise<void> => {
    isStopping = true
    await Promise.all(stops.map((stop) => stop()))
  }
}

const maxRunning = 100

/** Runs work in many projects at the same time, but in each project one at a time. */
export function openProjectRuns(warn: (error: unknown) => void) {
  const running = new Map<string, Promise<unknown>>()
  return {
    has: (projectId: string) => running.has(projectId),
    /** Waits while work runs in too many other projects. */
    async start(projectId: string, work: () => Promise<unknown>): Promise<void> {
      while (running.size >= maxRunning) await Promise.race(running.values())
      const done = work().catch(warn)
      running.set(
        projectId,
        done.finally(() => running.delete(projectId)),
      )
    },
    drain: () => Promise.all(running.values()),
  }
}
