import { Type } from '@sinclair/typebox'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { ReadRequest } from '../commands/query.ts'
import { canonicalId, isId } from '../id-format.ts'
import { AsOfParameter, parseAsOf, type Snapshot } from '../log/as-of.ts'
import { firstRows, hasLeftProject, rowSources, visibleColumns } from '../log/rows-at.ts'
import type { Sql } from '../postgres/database.ts'
import { unprepared } from '../postgres/timeouts.ts'
import { visibleProject } from '../reads/visible.ts'
import { badRequest } from '../responses/errors.ts'
import { IdOf } from '../schema/input.ts'
import type { Services } from '../services.ts'

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
