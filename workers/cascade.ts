import { getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { recordNameChange } from '../modules/accounts/queries.ts'
import { model } from '../modules/modules.ts'
import { unassignTasks } from '../modules/tasks/commands.ts'
import type { Run } from '../src/commands/router.ts'
import type { Sql, SqlPart } from '../src/postgres/database.ts'
import { newId, nilId } from '../src/ids.ts'
import { type Throttle, forEachPage, whilePagesAreFull } from './throttle.ts'
import { ignoreStatus } from './reason.ts'
import { removeDeliveries } from './webhooks/maintenance.ts'

/** The actor of the events that workers cause. */
export const workerActor = nilId

/**
 * Deletes the rows of a deleted project, its stream last: run again, it continues where it stopped.
 * @throws when the project still exists: the job is then parked for the operator, and nothing is removed
 */
export async function purgeProject(sql: Sql, projectId: string, pace: Throttle): Promise<void> {
  const [project] = await sql`select id from projects where id = ${projectId}`
  if (project) throw new Error(`The project ${projectId} still exists: nothing of it is removed`)
  // A run that paused between two statements must spare the children of tasks that have moved since.
  const notOfAnother = sql`and not exists (
    select from tasks t where t.id = task_id and t.project_id <> ${projectId})`
  await forEachPage(pace, nilId, async (after) => {
    const tasks = await sql<{ id: string }[]>`
      select id from tasks where project_id = ${projectId} and id > ${after} order by id, number limit ${pace.batchRows}`
    const ids = tasks.map(({ id }) => id)
    await purgeChildren(sql, ids, pace, notOfAnother)
    await sql`delete from tasks where id = any(${ids}::uuid[]) and project_id = ${projectId}`
    return ids.at(-1)
  })
  const webhooks = await sql<{ id: string }[]>`select id from webhooks where project_id = ${projectId}`
  // Not by a join, which reads all of their deliveries for each page.
  await removeDeliveries(sql, sql`webhook_id = any(${webhooks.map(({ id }) => id)}::uuid[])`, pace)
  for (const { name, table, parent, isDeletedByWorker } of model.all)
    if (parent === 'project' && !isDeletedByWorker && name !== 'task')
      await purgeRows(sql, table, sql`project_id = ${projectId}`, pace)
  await removeServiceAccounts(sql, projectId, pace)
  await forEachPage(pace, 0, async (after) => {
    const [row] = await sql<{ last: number | null }[]>`
      with gone as (delete from events where project_id = ${projectId} and seq > ${after} and seq <= ${after + pace.batchRows}
        returning seq)
      select min(e.seq)::float8 - 1 as last from events e
      where e.project_id = ${projectId} and e.seq > ${after + pace.batchRows}`
    return row?.last ?? undefined
  })
  await sql`
    with gone as (delete from streams where project_id = ${projectId}
      and not exists (select from projects where id = ${projectId}) returning project_id)
    insert into gone_projects select project_id from gone on conflict do nothing`
}

/** Deletes the children of a deleted task. A child that has been restored since has a later event, and stays. */
export async function purgeTask(
  sql: Sql,
  { taskId = '', eventId }: { taskId?: string; eventId?: string },
  pace: Throttle,
): Promise<void> {
  const last = eventId ?? (await lastDeletionOf(sql, taskId))
  const isLeft = last
    ? sql`event_id < ${last}::uuid`
    : sql`not exists (select from tasks t where t.id = task_id)`
  await purgeChildren(sql, [taskId], pace, sql`and ${isLeft}`)
}

/** For jobs of releases that did not name the event; undefined once the log has expired. */
async function lastDeletionOf(sql: Sql, taskId: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from events where task_id = ${taskId} and type = 'task.deleted' order by id desc limit 1`
  return row?.id
}

async function purgeChildren(sql: Sql, taskIds: string[], pace: Throttle, left: SqlPart): Promise<void> {
  if (taskIds.length === 0) return
  for (const { table } of model.ofTask)
    await purgeRows(sql, table, sql`task_id = any(${taskIds}::uuid[]) ${left}`, pace)
}

/**
 * Deletes rows until none is found. It counts the rows that it finds: another run may delete some of them first. The
 * condition stands in the deletion again, because a row may have been restored while its lock was waited for.
 */
const purgeRows = (sql: Sql, table: PgTable, where: SqlPart, pace: Throttle) =>
  whilePagesAreFull(pace, async () => {
    const name = sql(getTableName(table))
    const [row] = await sql<{ count: number }[]>`
      with found as materialized (select id from ${name} where ${where} limit ${pace.batchRows}),
      gone as (delete from ${name} where id = any(array(select id from found)) and ${where})
      select count(*)::int4 as count from found`
    return row!.count
  })

/**
 * Removes the service accounts of a project that are no longer members of it, with their tokens. While something works that an
 * account created, also through other accounts, the account stays: it leads from there to the member who created the account.
 */
const removeServiceAccounts = (sql: Sql, projectId: string, pace: Throttle): Promise<void> =>
  whilePagesAreFull(pace, async () => {
    const [row] = await sql<{ count: number }[]>`
      with recursive own as materialized (select u.id, u.created_by, m.id is not null as is_member
        from users u left join members m on m.project_id = u.project_id and m.user_id = u.id
        where u.project_id = ${projectId}),
      creators(id) as (select created_by from webhooks where project_id = ${projectId}
        union select created_by from own where is_member
        union select own.created_by from own join creators on creators.id = own.id),
      found as materialized (select id from own where not is_member
        and not exists (select from creators where creators.id = own.id) limit ${pace.batchRows}),
      done as (delete from users where id = any(array(select id from found)) returning id),
      ended as (delete from api_tokens where user_id = any(array(select id from found))),
      told as (${recordNameChange(sql, newId())})
      select count(*)::int4 as count from found`
    return row!.count
  })

/** Unassigns the tasks of a removed member by commands, and deletes the service account that the member may have been. */
export async function unassignMember(
  sql: Sql,
  run: Run,
  { projectId, userId }: { projectId: string; userId: string },
  pace: Throttle,
): Promise<void> {
  await forEachPage(pace, true, async () => {
    // In the order of the assignee's index: unassigned tasks leave it, so each page begins at its start.
    const tasks = await sql<{ id: string }[]>`
      select id from tasks where project_id = ${projectId} and assignee_id = ${userId}
      order by status, priority, id, created_at, number limit ${pace.batchRows}`
    const ids = tasks.map(({ id }) => id)
    if (ids.length === 0) return undefined
    const input = { projectId, userId, ids }
    return run({ name: unassignTasks.name, input, caller: { userId: workerActor } }).then(() => true, ignoreStatus(409))
  })
  await removeServiceAccounts(sql, projectId, pace)
}
