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
import { workerActor } from './cascade.ts'
import { type ChangedProjects, followLogs, openProjectRuns, openWarn } from './followers.ts'
import { forEachPage } from './throttle.ts'

const searchEveryMs = 500
/** The maximum number of events of a project that one query reads. */
const maxEvents = 10_000

/**
 * Follows the logs of all projects, and records which tasks became ready. The cursor of a project moves after the commands for
 * all tasks. A repeated command checks the log, so each event is recorded once, even if several processes search.
 */
export function startReadyEvents(services: Services): () => Promise<void> {
  const { config, database, run } = services
  const { jobBatchRows: batchRows, jobPauseMs: pauseMs } = config
  const sql = database.background
  const changed: ChangedProjects = new Map()
  let isStopping = false
  const warn = openWarn(services, 'ready tasks are not recorded yet')
  const runs = openProjectRuns((error) => isStopping || warn(error))
  const record = async (range: Range) => {
    // Also reads later events: they show a task that lost its blocker in the range and is not linked to the blocker any more.
    const read = { ...range, upTo: range.after + maxEvents }
    await forEachPage({ batchRows, pauseMs, isOver: () => isStopping }, nilId, async (afterId) => {
      const found = await findUnblocked(sql, read, { afterId, rows: batchRows })
      const tasks = found.filter(({ eventId }) => eventId !== null)
      const input = { projectId: range.projectId, tasks }
      if (tasks.length > 0) await run({ name: recordReady.name, input, caller: { userId: workerActor } })
      return found.length < batchRows ? undefined : found.at(-1)!.id
    })
    await moveCursors(sql, [range])
    changed.set(range.projectId, performance.now())
  }
  const follow = async (projectIds: string[]) => {
    const ranges = await findRanges(
      sql,
      projectIds.filter((id) => !runs.has(id)),
    )
    const quiet = ranges.filter(({ mayHaveReady }) => !mayHaveReady)
    await moveCursors(sql, quiet)
    for (const range of ranges) if (range.mayHaveReady) await runs.start(range.projectId, () => record(range))
    return quiet.flatMap(({ projectId, isLast }) => (isLast ? [] : projectId))
  }
  const stop = followLogs(services, {
    ...{ name: 'ready-events', cursors: 'ready_cursors', everyMs: searchEveryMs },
    ...{ changed, follow, warn },
  })
  return async () => {
    isStopping = true
    await stop()
    await runs.drain()
  }
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
