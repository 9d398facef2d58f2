import { setTimeout as sleep } from 'node:timers/promises'
import { fillNext, indexEvents, isBehind, readProgress } from '../modules/search/indexing.ts'
import {
  dependentsOf,
  endsOfBlockers,
  findUnblocked,
  type Range,
  recordReady,
} from '../modules/work-queue/ready-tasks.ts'
import { nilId } from '../src/id-format.ts'
import { newId } from '../src/ids.ts'
import { serviceActor } from '../src/model/events.ts'
import type { Sql } from '../src/postgres/database.ts'
import { isTransient } from '../src/postgres/errors.ts'
import type { Services } from '../src/services.ts'
import { forEachPage, type Loops, warnRarely } from './throttle.ts'

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

/** Projects with events to follow, and since when, in the order of these times. */
export type ChangedProjects = Map<string, number>

/** The maximum number of projects in memory. The sweep finds the projects that are left out. */
const maxChanged = 100_000
const sweepRows = 2_000
const maxFollowed = 100
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
function followLogs(services: Services, loops: Loops, follower: Follower): void {
  const { name, cursors, everyMs, changed, follow, warn } = follower
  const { config, database, notifications } = services
  const sql = database.background
  const hasTurn = openTurn(services, name)
  let sweptTo = nilId
  const add = (projectId: string, since = performance.now()) => {
    if (changed.size < maxChanged && !changed.has(projectId)) changed.set(projectId, since)
  }
  const step = async () => {
    while (changed.size > 0 && !loops.isStopping()) {
      if (!(await hasTurn())) return changed.clear()
      const [startedAt, taken] = [performance.now(), [...changed.entries().take(maxFollowed)]]
      for (const [id] of taken) changed.delete(id)
      const left = await follow(taken.map(([id]) => id))
      // Adds the project at the end, so that a project with many changes does not delay other projects.
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
  loops.every(everyMs, retrying(step))
  loops.every(config.sweepEveryMs, retrying(sweep))
  loops.onStop(notifications.listen(({ projectId }) => add(projectId)))
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

/** Changes within this time are indexed together. */
const collectMs = 50
const fillEveryMs = 500
/** For `ms` after a notification of changes, a fill pauses `pauses` times as long as it works. */
const busy = { ms: 1_000, pauses: 9 }

/** Indexes changes soon after their commits, so that a search rarely has to index changes itself. */
export function startSearchIndexing(services: Services, loops: Loops, changed: ChangedProjects): void {
  const { config, database, notifications } = services
  const sql = database.background
  const warn = warnRarely(services.log, 'the search index is not up to date; retrying')
  let busyUntil = 0
  const fill = async () => {
    const filling = await sql<{ projectId: string }[]>`
      select project_id from search_cursors where fill is not null order by project_id limit ${maxFollowed}`
    for (const { projectId } of filling)
      for (let isLeft = true; isLeft && !loops.isStopping();) {
        const startedAt = performance.now()
        isLeft = await fillNext(sql, projectId)
        const factor = performance.now() < busyUntil ? busy.pauses : 1
        await sleep(Math.max(config.jobPauseMs, (performance.now() - startedAt) * factor))
      }
  }
  followLogs(services, loops, {
    ...{ name: 'search-documents', cursors: 'search_cursors', everyMs: collectMs, changed, warn },
    follow: (projectIds) => indexProjects(database.indexing, projectIds, warn),
  })
  loops.every(fillEveryMs, () => fill().catch(warn))
  loops.onStop(notifications.listen(() => (busyUntil = performance.now() + busy.ms)))
}

/** Returns the projects that have more events. A project that cannot be indexed does not delay others: the sweep finds it again. */
async function indexProjects(
  sql: Sql,
  projectIds: string[],
  warn: (error: unknown) => void,
): Promise<string[]> {
  const behind = (await readProgress(sql, projectIds)).filter((one) => isBehind(one))
  try {
    await indexEvents(sql, behind)
  } catch (error) {
    if (isTransient(error)) throw error
    for (const one of behind) await indexEvents(sql, [one]).catch(warn)
    return []
  }
  const indexed = behind.map(({ projectId }) => projectId)
  const after = await readProgress(sql, indexed)
  return after.filter((one) => isBehind(one)).map(({ projectId }) => projectId)
}

const searchEveryMs = 500
/** The maximum number of events of a project that one query reads. */
const maxEvents = 10_000

/**
 * Follows the logs of all projects, and records which tasks became ready. The cursor of a project moves after the commands for
 * all tasks. A repeated command checks the log, so each event is recorded once, even if several processes search.
 */
export function startReadyEvents(services: Services, loops: Loops): void {
  const { database, run } = services
  const sql = database.background
  const { batchRows } = loops.pages
  const changed: ChangedProjects = new Map()
  const warn = warnRarely(services.log, 'ready tasks are not recorded yet; retrying')
  const runs = openProjectRuns((error) => loops.isStopping() || warn(error))
  const record = async (range: Range) => {
    // Also reads later events: they show a task that lost its blocker in the range and is not linked to the blocker any more.
    const read = { ...range, upTo: range.after + maxEvents }
    await forEachPage(loops.pages, nilId, async (afterId) => {
      const found = await findUnblocked(sql, read, { afterId, rows: batchRows })
      const tasks = found.filter(({ eventId }) => eventId !== null)
      const input = { projectId: range.projectId, tasks }
      if (tasks.length > 0) await run({ name: recordReady.name, input, caller: { userId: serviceActor } })
      return found.length < batchRows ? undefined : found.at(-1)!.id
    })
    await moveCursors(sql, [range])
    changed.set(range.projectId, performance.now())
  }
  const follow = async (projectIds: string[]) => {
    const idle = projectIds.filter((id) => !runs.has(id))
    const ranges = await findRanges(sql, idle)
    const quiet = ranges.filter(({ mayHaveReady }) => !mayHaveReady)
    await moveCursors(sql, quiet)
    for (const range of ranges) if (range.mayHaveReady) await runs.start(range.projectId, () => record(range))
    return quiet.flatMap(({ projectId, isLast }) => (isLast ? [] : projectId))
  }
  followLogs(services, loops, {
    ...{ name: 'ready-events', cursors: 'ready_cursors', everyMs: searchEveryMs },
    ...{ changed, follow, warn },
  })
  loops.onStop(runs.drain)
}

interface FoundRange extends Range {
  isLast: boolean
  /** False if it is certain that no task has become ready. */
  mayHaveReady: boolean
}

/** After a failover, a cursor may be ahead of its project: then the log is followed from its end. */
const findRanges = (sql: Sql, projectIds: string[]) => sql<FoundRange[]>`
  with p as materialized (
    select s.project_id, s.version, least(coalesce(c.seq, 0), s.version) as after,
      least(coalesce(c.seq, 0) + ${maxEvents}::int4, s.version) as up_to
    from streams s join projects r on r.id = s.project_id left join ready_cursors c on c.project_id = s.project_id
    where s.project_id = any(${projectIds}::uuid[])),
  ended as materialized (select p.project_id, e.* from p
    cross join lateral (${endsOfBlockers(sql, { projectId: sql`p.project_id`, after: sql`p.after`, upTo: sql`p.up_to` })}) e)
  select project_id, after::float8 as after, up_to::float8 as up_to, up_to = version as is_last,
    project_id in (select project_id from (${dependentsOf(sql)}) t union all select project_id from ended where had is not null)
      as may_have_ready
  from p`

/** A deleted project gets no cursor again. */
async function moveCursors(sql: Sql, ranges: Range[]): Promise<void> {
  if (ranges.length === 0) return
  await sql`
    insert into ready_cursors (project_id, seq)
    select p.id, p.seq from unnest(${ranges.map(({ projectId }) => projectId)}::uuid[], ${ranges.map(({ upTo }) => upTo)}::bigint[])
      p(id, seq) join projects r on r.id = p.id order by p.id for key share of r
    on conflict (project_id) do update set seq = excluded.seq`
}
