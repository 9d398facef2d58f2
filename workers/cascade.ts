import { getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { tellRenaming } from '../modules/accounts/queries.ts'
import { model } from '../modules/modules.ts'
import { unassignTasks } from '../modules/tasks/commands.ts'
import { Refusal } from '../src/wire/refusals.ts'
import type { Run } from '../src/commands/route.ts'
import type { Sql, SqlPart } from '../src/postgres/database.ts'
import { newId, nilId } from '../src/ids.ts'
import { type Pace, perPage, untilFewer } from './pace.ts'
import { removeDeliveries } from './webhooks/expire-deliveries.ts'

/** Who the history names for what a worker does. */
export const worker = nilId

/**
 * Removes what a deleted project left behind, its stream last: run again, it goes on where it stopped.
 * @throws when the project still exists: the job is then parked for the operator, and nothing is removed
 */
export async function purgeProject(sql: Sql, projectId: string, pace: Pace): Promise<void> {
  const [project] = await sql`select id from projects where id = ${projectId}`
  if (project) throw new Error(`The project ${projectId} still exists: nothing of it is removed`)
  // Who is stopped between two statements, for long, finds what has the ids of its tasks since.
  const notOfAnother = sql`and not exists (
    select from tasks t where t.id = task_id and t.project_id <> ${projectId})`
  await perPage(pace, nilId, async (after) => {
    const tasks = await sql<{ id: string }[]>`
      select id from tasks where project_id = ${projectId} and id > ${after} order by id, number limit ${pace.batchRows}`
    const ids = tasks.map(({ id }) => id)
    await purgeChildren(sql, ids, pace, notOfAnother)
    await sql`delete from tasks where id = any(${ids}::uuid[]) and project_id = ${projectId}`
    return ids.at(-1)
  })
  for (const { name, table, parent, load } of model.all)
    if (parent === 'project' && load !== 'on demand' && name !== 'task')
      await purgeRows(sql, table, sql`project_id = ${projectId}`, pace)
  await purgeWebhooks(sql, projectId, pace)
  await removeServiceAccounts(sql, projectId, pace)
  await perPage(pace, 0, async (after) => {
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

/** Never many, but for what they were sent. */
async function purgeWebhooks(sql: Sql, projectId: string, pace: Pace): Promise<void> {
  const webhooks = await sql<
    { id: string }[]
  >`delete from webhooks where project_id = ${projectId} returning id`
  const ids = webhooks.map(({ id }) => id)
  if (ids.length > 0) await removeDeliveries(sql, ids, pace)
}

/** Removes what hung on a task when it was deleted: what has come back since is of a later event, and stays. */
export async function purgeTask(
  sql: Sql,
  { taskId = '', eventId }: { taskId?: string; eventId?: string },
  pace: Pace,
): Promise<void> {
  const last = eventId ?? (await lastDeletionOf(sql, taskId))
  await purgeChildren(sql, [taskId], pace, last ? sql`and event_id < ${last}::uuid` : taskIsGone(sql))
}

/** The log tells of no deletion any more, or never did. */
const taskIsGone = (sql: Sql) => sql`and not exists (select from tasks t where t.id = task_id)`

/** For jobs from before they named the event. */
async function lastDeletionOf(sql: Sql, taskId: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from events where task_id = ${taskId} and type = 'task.deleted' order by id desc limit 1`
  return row?.id
}

/** Removes the children of deleted tasks: of them, those that are `left`. */
async function purgeChildren(sql: Sql, taskIds: string[], pace: Pace, left: SqlPart): Promise<void> {
  if (taskIds.length === 0) return
  for (const { table } of model.ofTask)
    await purgeRows(sql, table, sql`task_id = any(${taskIds}::uuid[]) ${left}`, pace)
}

/**
 * Deletes rows until none is found. Found, not deleted: what another run deletes at the same time is waited for, and
 * says nothing of what comes after it. What had to be waited for is looked at again: it may have come back.
 */
const purgeRows = (sql: Sql, table: PgTable, where: SqlPart, pace: Pace) =>
  untilFewer(pace, async () => {
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
const removeServiceAccounts = (sql: Sql, projectId: string, pace: Pace): Promise<void> =>
  untilFewer(pace, async () => {
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
      told as (${tellRenaming(sql, newId())})
      select count(*)::int4 as count from found`
    return row!.count
  })

/** Takes a removed member's tasks from them, through the project's actor like every other write. A service account goes. */
export async function unassignMember(
  sql: Sql,
  run: Run,
  { projectId, userId }: { projectId: string; userId: string },
  pace: Pace,
): Promise<void> {
  await perPage(pace, true, async () => {
    // In the order of the assignee's index: what is taken leaves it, so each page begins at its start.
    const tasks = await sql<{ id: string }[]>`
      select id from tasks where project_id = ${projectId} and assignee_id = ${userId}
      order by status, priority, id, created_at, number limit ${pace.batchRows}`
    const ids = tasks.map(({ id }) => id)
    if (ids.length === 0) return undefined
    const input = { projectId, userId, ids }
    return run({ name: unassignTasks.name, input, caller: { userId: worker } }).then(() => true, unlessOver)
  })
  await removeServiceAccounts(sql, projectId, pace)
}

/** Nothing is left to do when the rule says so. */
function unlessOver(error: unknown): undefined {
  if (!(error instanceof Refusal) || error.status !== 409) throw error
}
