import type { ChildOfTask } from '../../drizzle/entities.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { Moment } from '../../src/past/moments.ts'
import { firstThen, rowsThen, since } from '../../src/past/rows-then.ts'
import { rowsTold } from '../../src/past/rows-told.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { unprepared } from '../../src/postgres/queries.ts'
import { type Page, startOf } from '../../src/reads/pages.ts'

type TaskThen = TaskRow & { isGone: boolean }

/** The project that a task is in, or was in last; with an instant: then, as far as so many events of it tell. */
export async function placeOf(
  sql: Sql,
  { taskId, instant, most }: { taskId: string; instant: string | null; most: number },
): Promise<string | null> {
  const now = sql`(select project_id from tasks where id = ${taskId})`
  const last = sql`(select project_id from events where task_id = ${taskId} order by id desc limit 1)`
  const then = sql`(select project_id from
      (select project_id, id, at from events where task_id = ${taskId} order by id desc limit ${most}) e
    order by at <= ${instant}::timestamptz desc, case when at <= ${instant}::timestamptz then id end desc, id limit 1)`
  const [found] = await unprepared(sql<{ projectId: string | null }[]>`
    select ${instant === null ? sql`coalesce(${now}, ${last})` : sql`coalesce(${then}, ${now})`} as project_id`)
  return found!.projectId
}

/** A task as it stood, and whether it has gone since: then what hung on it is not to be found where it was. */
export async function taskThen(sql: Sql, moment: Moment, taskId: string): Promise<TaskThen | undefined> {
  const { projectId } = moment
  const one = { where: sql`t.id = ${taskId} and t.project_id = ${projectId}`, by: sql`t.id`, limit: 1 }
  const [row] = await unprepared(sql<TaskThen[]>`
    select t.*, exists(select from events where task_id = ${taskId} and id >= ${since(sql, moment)}
      and project_id = ${projectId} and entity = 'task' and after is null) as is_gone
    from ${firstThen(sql, rowsThen(sql, 'task', moment, taskId), one)} t`)
  return row
}

interface Children {
  entity: ChildOfTask
  moment: Moment
  taskId: string
  page: Page
}

/** What hung on a task: of one that has been there ever since, and of one that has gone. */
export function childrenThen(sql: Sql, { entity, moment, taskId, page }: Children) {
  const first = {
    where: sql`t.task_id = ${taskId} and t.id > ${startOf(page)}`,
    by: sql`t.id, t.created_at`,
    limit: page.limit + 1,
  }
  return {
    standing: () => firstThen(sql, rowsThen(sql, entity, moment, taskId), first),
    told: () => rowsTold(sql, entity, moment, taskId),
  }
}
