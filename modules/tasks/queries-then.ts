import type { TaskRow } from '../../drizzle/rows.ts'
import type { Moment } from '../../src/log/as-of.ts'
import { firstRows, since, sourcesOf } from '../../src/log/rows-at.ts'
import { shownColumns } from '../../src/log/shown-columns.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { visibleProject } from '../../src/reads/visible.ts'
import { unprepared } from '../../src/postgres/queries.ts'

type TaskThen = TaskRow & { isGone: boolean }

/**
 * The project that a task is in or was in last, or at an instant was in then. Null for a user who can see no project of
 * the task: no event is read for them.
 * @param most the events of the task that are read for an instant, at most
 */
export async function placeOf(
  sql: Sql,
  about: { taskId: string; userId: string; instant: string | null; most: number },
): Promise<string | null> {
  const { taskId, userId, instant, most } = about
  const now = sql`(select project_id from tasks where id = ${taskId})`
  const last = sql`(select project_id from events where task_id = ${taskId} order by id desc limit 1)`
  const then = sql`(select project_id from
      (select project_id, id, at from events where task_id = ${taskId} order by id desc limit ${most}) e
    order by at <= ${instant}::timestamptz desc, case when at <= ${instant}::timestamptz then id end desc, id limit 1)`
  const first = sql`(select project_id from events where task_id = ${taskId} order by id limit 1)`
  const left = sql`array(select project_id from events
    where task_id = ${taskId} and type = 'task.moved_out' limit ${most})`
  const isSeen = sql`exists (select from unnest(${left} || ${first} || coalesce(${now}, ${last})) all_of(id)
    cross join lateral ${visibleProject(sql, sql`all_of.id`, sql`${userId}`)} p)`
  const place =
    instant === null
      ? sql`coalesce(${now}, ${last})`
      : sql`case when ${isSeen} then coalesce(${then}, ${now}) end`
  const [found] = await unprepared(sql<{ projectId: string | null }[]>`select ${place} as project_id`)
  return found!.projectId
}

/** A task as it was, and whether it was deleted or moved since: its children are then told by the log alone. */
export async function taskThen(sql: Sql, moment: Moment, taskId: string): Promise<TaskThen | undefined> {
  const { projectId } = moment
  const one = { where: sql`t.id = ${taskId} and t.project_id = ${projectId}`, by: sql`t.id`, limit: 1 }
  const [row] = await unprepared(sql<TaskThen[]>`
    select ${shownColumns(sql, 'task', 't', moment)}, exists(select from events where task_id = ${taskId} and id >= ${since(sql, moment)}
      and project_id = ${projectId} and entity = 'task' and after is null) as is_gone
    from ${firstRows(sql, sourcesOf(sql, 'task', moment, taskId), one)} t`)
  return row
}
