import type { TaskRow } from '../../drizzle/rows.ts'
import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { type Caller, isWithinToken } from '../../src/identity/rights.ts'
import { nowMs } from '../../src/ids.ts'
import { visibleColumns, visibleEventId } from '../../src/log/rows-at.ts'
import { grouped, groupOfCheapReads, byOrdinal } from '../../src/postgres/grouped.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type LookUp, openLookUp, requireVisible } from '../../src/reads/lookups.ts'
import { type Pair, pairsOf, visibleProject } from '../../src/reads/visible.ts'
import type { Place } from '../../src/reads/standbys.ts'
import { nameTagOf, type Versioned, type Versions } from '../../src/reads/versions.ts'
import { notFound } from '../../src/responses/errors.ts'
import { etagOf, respond } from '../../src/responses/reply.ts'
import {
  projectIdNeedsAsOf,
  snapshotOf,
  taskAt,
  taskSnapshotParameters,
} from '../../src/routes/past-tasks.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { claimTag, claimTagOf } from './claim.ts'
import { taskView } from './schema.ts'
import { type HolderOf, showClaims } from './shown-claims.ts'

interface SeenTask extends Versioned {
  eventId: string
  /** The end of the task's claim in ms. */
  claimedUntil?: string
}

export const openSeenTasks = (sql: Sql, versions: Versions) =>
  openLookUp<SeenTask>(sql, versions, {
    joins: sql`join tasks t on t.id = q.id`,
    projectId: sql`t.project_id`,
    columns: sql`${visibleEventId(sql, 'task', 't')}, case when t.claimed_by is not null then
      (extract(epoch from t.claimed_until) * 1000)::bigint end`,
    make: (seen, [eventId = '', claimedUntil]) => ({ ...seen, eventId, claimedUntil }),
  })

const tagOfClaim = ({ claimedUntil, renaming }: SeenTask): string =>
  Number(claimedUntil) > nowMs() ? claimTagOf(Number(claimedUntil), nameTagOf(renaming)) : ''

export function getTask(services: Services, seeTask: LookUp<SeenTask>): Query {
  const { database, findPerson, place, snapshots, serve } = services
  const findTask = openFindTask(database.reads, place)
  return {
    about: 'Returns the task without its subtasks and comments, which have their own lists.',
    input: Input(taskSnapshotParameters()),
    errors: [projectIdNeedsAsOf(), ...snapshots.errors, notFound('Task')],
    view: taskView,
    async read(reading) {
      const { request, caller, params, query } = reading
      if (query.asOf !== undefined || query.projectId !== undefined) return getTaskAsOf(services, reading)
      const { id = '' } = params
      const visible = await requireVisible(seeTask, caller, id, 'Task')
      const build = async () => {
        const task = await findTask(caller, id, visible)
        if (!task) throw notFound('Task')
        return bodyOf(task, await showClaims(findPerson, [task]))
      }
      const etag = etagOf(visible, visible.claimedUntil && tagOfClaim(visible))
      return serve(request, id, etag, build, visible.version)
    },
  }
}

function bodyOf(task: TaskRow, holderOf?: HolderOf) {
  const holder = holderOf?.(task)
  return {
    etag: etagOf(task, claimTag(task, holder)),
    body: JSON.stringify(taskView.of(task, holder)),
    link: null,
  }
}

/** Reads tasks for several requests in one query, and checks visibility again, because a task may have just moved. */
function openFindTask(sql: Sql, place: Place) {
  const columns = visibleColumns(sql, 'task', 't')
  const find = grouped(groupOfCheapReads, async (pairs: (Pair & { seen: SeenTask })[]) => {
    const rows = await place(sql, { projects: pairs.map(({ seen }) => seen) })<(TaskRow & { n: number })[]>`
      select q.n::int4 as n, ${columns} from ${pairsOf(sql, pairs)} join tasks t on t.id = q.id
      cross join lateral ${visibleProject(sql, sql`t.project_id`, sql`q.user_id`)} p`
    return byOrdinal(pairs.length, rows)
  })
  return async (caller: Caller, id: string, seen: SeenTask) => {
    const task = await find({ userId: caller.userId, id, seen })
    return task && isWithinToken(caller, task.projectId) ? task : undefined
  }
}

async function getTaskAsOf(services: Services, reading: ReadRequest): Promise<Response> {
  const { request, caller, params } = reading
  const snapshot = await snapshotOf(services, reading)
  const task =
    snapshot && (await services.snapshots.read(caller, snapshot, (sql) => taskAt(sql, snapshot, params.id!)))
  if (!task) throw notFound('Task')
  return respond(request, bodyOf(task, await showClaims(services.findPerson, [task], true)), snapshot.version)
}
