import { Type } from '@sinclair/typebox'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import { canonicalId, isId } from '../../src/ids.ts'
import { AsOfParameter, type Moment, readAsOf } from '../../src/log/as-of.ts'
import { firstRows, shownColumns, since, sourcesOf } from '../../src/log/rows-at.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/query-timeouts.ts'
import { visibleProject } from '../../src/reads/visible.ts'
import { IdOf } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { etagOf, respond } from '../../src/responses/reply.ts'
import { badRequest, notFound } from '../../src/responses/errors.ts'
import { taskView } from './schema.ts'

/** In plain reads: by an instant, many events of the task may be read. */
const costOfPlace = 10

/** The parameters of a read of a task that may be answered as of a moment. */
export const asOfTask = () => ({
  asOf: AsOfParameter(),
  projectId: Type.Optional(
    Type.Unsafe<string>({
      ...IdOf('project'),
      description:
        'With asOf: the id of the project whose version that is, where the task may have moved since',
    }),
  ),
})
export const withoutAsOf = () => badRequest('projectId goes with asOf: it says whose version that is')

export async function showThen(services: Services, reading: ReadRequest): Promise<Response> {
  const { request, caller, params } = reading
  const moment = await momentOf(services, reading)
  const task =
    moment && (await services.moments.read(caller, moment, (sql) => taskThen(sql, moment, params.id!)))
  if (!task) throw notFound('Task')
  const body = JSON.stringify(taskView.of(task))
  return respond(request, { etag: etagOf(task), body, link: null }, moment.version)
}

/**
 * The moment that `asOf` names, of a project that the caller is in today: undefined if there is none. Unless a project is
 * given, it is the one that the task is in or was in last, or at an instant was in then.
 * @throws HttpError 400
 */
export async function momentOf(
  { findRole, moments, spend }: Services,
  { caller, params, query }: ReadRequest,
  given = query.projectId && canonicalId(query.projectId),
): Promise<Moment | undefined> {
  const { id = '' } = params
  const { asOf } = query
  if (asOf === undefined) throw withoutAsOf()
  if (!isId(id)) return undefined
  const at = readAsOf(asOf)
  const cost = typeof at === 'string' ? costOfPlace : 1
  const find = (sql: Sql) => placeOf(sql, { taskId: id, userId: caller.userId, at, most: moments.most })
  const projectId = given ?? (await spend(caller, cost, find))
  const seen = projectId && isId(projectId) ? await findRole(caller, projectId) : undefined
  return seen && moments.find(seen, asOf)
}

/**
 * The project that a task is in or was in last, or at an instant was in then. Null for a user who can see no project of
 * the task: no event is read for them.
 * @param about `at` is a version or an instant; for an instant at most `most` events of the task are read
 */
async function placeOf(
  sql: Sql,
  { taskId, userId, at, most }: { taskId: string; userId: string; at: number | string; most: number },
): Promise<string | null> {
  const now = sql`(select project_id from tasks where id = ${taskId})`
  const last = sql`(select project_id from events where task_id = ${taskId} order by id desc limit 1)`
  const then = sql`(select project_id from
      (select project_id, id, at from events where task_id = ${taskId} order by id desc limit ${most}) e
    order by at <= ${at}::timestamptz desc, case when at <= ${at}::timestamptz then id end desc, id limit 1)`
  const first = sql`(select project_id from events where task_id = ${taskId} order by id limit 1)`
  const left = sql`array(select project_id from events
    where task_id = ${taskId} and type = 'task.moved_out' limit ${most})`
  const isSeen = sql`exists (select from unnest(${left} || ${first} || coalesce(${now}, ${last})) all_of(id)
    cross join lateral ${visibleProject(sql, sql`all_of.id`, sql`${userId}`)} p)`
  const place =
    typeof at === 'number'
      ? sql`coalesce(${now}, ${last})`
      : sql`case when ${isSeen} then coalesce(${then}, ${now}) end`
  const [found] = await unprepared(sql<{ projectId: string | null }[]>`select ${place} as project_id`)
  return found!.projectId
}

/** A task as it was, and whether it was deleted or moved since: its children are then told by the log alone. */
export async function taskThen(sql: Sql, moment: Moment, taskId: string) {
  const { projectId } = moment
  const one = { where: sql`t.id = ${taskId} and t.project_id = ${projectId}`, by: sql`t.id`, limit: 1 }
  const [row] = await unprepared(sql<(TaskRow & { isGone: boolean })[]>`
    select ${shownColumns(sql, 'task', 't', moment)}, exists(select from events where task_id = ${taskId} and id >= ${since(sql, moment)}
      and project_id = ${projectId} and entity = 'task' and after is null) as is_gone
    from ${firstRows(sql, sourcesOf(sql, 'task', moment, taskId), one)} t`)
  return row
}
