import { setTimeout as sleep } from 'node:timers/promises'
import {
  dependentsOf,
  endsOfBlockers,
  findUnblocked,
  recordReady,
} from '../modules/work-queue/ready-events.ts'
import type { Range } from '../modules/work-queue/ready-events.ts'
import { nilId } from '../src/id-format.ts'
import type { Sql } from '../src/postgres/database.ts'
import type { Services } from '../src/services.ts'
import { repeatedly, throttle } from '../src/waits.ts'
import { workerActor } from './cascade.ts'
import { reasonOf } from './reason.ts'
import { forEachPage } from './throttle.ts'
import { openTurn } from './turn.ts'

const searchEveryMs = 500
const max = {
  /** Projects whose cursors one search compares with their versions, because a notification may be lost. */
  swept: 2_000,
  /** Projects of one query, and events of each. */
  projects: 100,
  events: 10_000,
  /** Projects in which commands run. */
  recording: 100,
  /** Projects in memory. The sweep finds the projects that are left out. */
  changed: 100_000,
}

/**
 * Follows the logs of all projects, and records which tasks became ready. The cursor of a project moves after the commands for
 * all tasks. A repeated command checks the log, so each event is recorded once, even if several processes search.
 */
export function startReadyEvents(services: Services): () => Promise<void> {
  const { config, database, notifications, log, run } = services
  const { jobBatchRows: batchRows, jobPauseMs: pauseMs } = config
  const sql = database.background
  const hasTurn = openTurn(services, 'ready-events', 2 * searchEveryMs)
  const [changed, recording] = [new Set<string>(), new Map<string, Promise<unknown>>()]
  let [isStopping, sweptTo] = [false, nilId]
  const warn = throttle(60_000, (error: unknown) =>
    log.warn({ reason: reasonOf(error) }, 'ready tasks are not recorded yet; retrying'),
  )
  const record = async (range: Range) => {
    // Also reads later events: they show a task that lost its blocker in the range and is not linked to the blocker any more.
    const read = { ...range, upTo: range.after + max.events }
    await forEachPage({ batchRows, pauseMs, isOver: () => isStopping }, nilId, async (afterId) => {
      const found = await findUnblocked(sql, read, { afterId, rows: batchRows })
      const tasks = found.filter(({ eventId }) => eventId !== null)
      const input = { projectId: range.projectId, tasks }
      if (tasks.length > 0) await run({ name: recordReady.name, input, caller: { userId: workerActor } })
      return found.length < batchRows ? undefined : found.at(-1)!.id
    })
    await moveCursors(sql, [range])
    changed.add(range.projectId)
  }
  const step = async (projectIds: string[]) => {
    const ranges = await findRanges(sql, projectIds)
    const quiet = ranges.filter(({ mayHaveReady }) => !mayHaveReady)
    await moveCursors(sql, quiet)
    for (const { projectId, isLast } of quiet) if (!isLast) changed.add(projectId)
    for (const range of ranges.filter(({ mayHaveReady }) => mayHaveReady)) {
      const done = record(range).catch((error) => isStopping || warn(error))
      recording.set(
        range.projectId,
        done.then(() => recording.delete(range.projectId)),
      )
    }
    while (recording.size >= max.recording) await Promise.race(recording.values())
  }
  const search = async () => {
    const isMine = await hasTurn()
    if (isMine) sweptTo = await sweep(sql, sweptTo, (id) => changed.add(id))
    const taken = [...changed].filter((id) => isMine && !recording.has(id))
    changed.clear()
    for (let n = 0; n < taken.length && !isStopping; n += max.projects) {
      const startedAt = performance.now()
      await step(taken.slice(n, n + max.projects))
      await sleep(Math.max(pauseMs, performance.now() - startedAt))
    }
  }
  const stops = [
    repeatedly(() => search().catch(warn), searchEveryMs, log),
    notifications.listen(({ projectId }) => void (changed.size < max.changed && changed.add(projectId))),
  ]
  return async () => {
    isStopping = true
    await Promise.all(stops.map((stop) => stop()))
    await Promise.all(recording.values())
  }
}

/** Adds the next projects whose logs have further events. Returns the project after which the next sweep begins. */
async function sweep(sql: Sql, after: string, add: (projectId: string) => void): Promise<string> {
  const rows = await sql<{ projectId: string; isBehind: boolean }[]>`
    select s.project_id, c.seq is distinct from s.version as is_behind from streams s
    left join ready_cursors c on c.project_id = s.project_id where s.project_id > ${after} order by s.project_id limit ${max.swept}`
  for (const { projectId, isBehind } of rows) if (isBehind) add(projectId)
  return rows.length === max.swept ? rows.at(-1)!.projectId : nilId
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
      least(coalesce(c.seq, 0) + ${max.events}::int4, s.version) as up_to
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
