import type { TaskRow } from '../../drizzle/rows.ts'
import type { Query, ReadRequest } from '../../src/commands/query.ts'
import { type Caller, isWithinToken } from '../../src/identity/rights.ts'
import { nowMs } from '../../src/ids.ts'
import { visibleColumns, visibleEventId, firstRows, rowSources } from '../../src/log/rows-at.ts'
import { grouped, groupOfCheapReads, byOrdinal } from '../../src/postgres/grouped.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type LookUp, openLookUp, requireVisible } from '../../src/reads/lookups.ts'
import { type Pair, pairsOf, visibleProject } from '../../src/reads/visible.ts'
import type { Place } from '../../src/reads/standbys.ts'
import { nameTagOf, type Versioned, type Versions } from '../../src/reads/versions.ts'
import { notFound, badRequest } from '../../src/responses/errors.ts'
import { etagOf, respond } from '../../src/responses/reply.ts'
import { Input, IdOf } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { claimTag, claimTagOf } from './claim.ts'
import { taskView } from './schema.ts'
import { type HolderOf, showClaims } from './shown-claims.ts'
import { Type } from '@sinclair/typebox'
import { canonicalId, isId } from '../../src/id-format.ts'
import { AsOfParameter, type Snapshot, parseAsOf } from '../../src/log/as-of.ts'
import { hasLeftProject } from '../../src/log/logged-children.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'

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

/** A look-up by an instant is charged as this many ordinary reads, because it may read many events of the task. */
const instantCost = 10

export const taskSnapshotParameters = () => ({
  asOf: AsOfParameter(),
  projectId: Type.Optional(
    Type.Unsafe<string>({
      ...IdOf('project'),
      description:
        'With asOf: the id of the project that contained the task at that version. The task may be in another project now',
    }),
  ),
})
export const projectIdNeedsAsOf = () => badRequest('projectId needs asOf: send both, or neither')

async function getTaskAsOf(services: Services, reading: ReadRequest): Promise<Response> {
  const { request, caller, params } = reading
  const snapshot = await snapshotOf(services, reading)
  const task =
    snapshot && (await services.snapshots.read(caller, snapshot, (sql) => taskAt(sql, snapshot, params.id!)))
  if (!task) throw notFound('Task')
  return respond(request, bodyOf(task, await showClaims(services.findPerson, [task], true)), snapshot.version)
}

/**
 * Without a project id, a version means a version of the task's current or last project, and an instant means the
 * project that the task was in at that instant.
 */
export async function snapshotOf(
  { findRole, snapshots, charge }: Services,
  { caller, params, query }: ReadRequest,
  given = query.projectId && canonicalId(query.projectId),
): Promise<Snapshot | undefined> {
  const { id = '' } = params
  const { asOf } = query
  if (asOf === undefined) throw projectIdNeedsAsOf()
  if (!isId(id)) return undefined
  const at = parseAsOf(asOf)
  const cost = typeof at === 'string' ? instantCost : 1
  const find = (sql: Sql) => projectOfTask(sql, caller.userId, id, at, snapshots.maxEvents)
  const projectId = given ?? (await charge(caller, cost, find))
  const project = projectId && isId(projectId) ? await findRole(caller, projectId) : undefined
  return project && snapshots.find(project, asOf)
}

/**
 * Reads at most `limit` events of the task, and none for a user who may see none of its projects. The caller of this
 * function checks that the project is visible.
 */
async function projectOfTask(sql: Sql, userId: string, taskId: string, at: number | string, limit: number) {
  const now = sql`(select project_id from tasks where id = ${taskId})`
  const last = sql`(select project_id from events where task_id = ${taskId} order by id desc limit 1)`
  const then = sql`(select project_id from
      (select project_id, id, at from events where task_id = ${taskId} order by id desc limit ${limit}) e
    order by at <= ${at}::timestamptz desc, case when at <= ${at}::timestamptz then id end desc, id limit 1)`
  const first = sql`(select project_id from events where task_id = ${taskId} order by id limit 1)`
  const left = sql`array(select project_id from events
    where task_id = ${taskId} and type = 'task.moved_out' limit ${limit})`
  const isVisible = sql`exists (select from unnest(${left} || ${first} || coalesce(${now}, ${last})) q(id)
    cross join lateral ${visibleProject(sql, sql`q.id`, sql`${userId}`)} p)`
  const project =
    typeof at === 'number'
      ? sql`coalesce(${now}, ${last})`
      : sql`case when ${isVisible} then coalesce(${then}, ${now}) end`
  const [found] = await unprepared(sql<{ projectId: string | null }[]>`select ${project} as project_id`)
  return found!.projectId
}

/** `hasLeft`: the task was deleted or moved later, so only the log contains its children. */
export async function taskAt(sql: Sql, snapshot: Snapshot, taskId: string) {
  const { projectId } = snapshot
  const one = { where: sql`t.id = ${taskId} and t.project_id = ${projectId}`, by: sql`t.id`, limit: 1 }
  const [row] = await unprepared(sql<(TaskRow & { hasLeft: boolean })[]>`
    select ${visibleColumns(sql, 'task', 't', snapshot)}, ${hasLeftProject(sql, snapshot, taskId)} as has_left
    from ${firstRows(sql, rowSources(sql, 'task', snapshot, taskId), one)} t`)
  return row
}
