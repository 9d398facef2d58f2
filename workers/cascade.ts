import { getTableName } from 'drizzle-orm'
import { positionKey, tasks } from '../drizzle/schema/tasks.ts'
import { recordNameChange } from '../modules/accounts/queries.ts'
import { removeMember } from '../modules/members/commands.ts'
import { model } from '../modules/modules.ts'
import { deleteProject } from '../modules/projects/commands.ts'
import { unassignTasks } from '../modules/tasks/commands.ts'
import { userFields } from '../modules/tasks/schema.ts'
import type { Run } from '../src/commands/router.ts'
import { nilId } from '../src/id-format.ts'
import { newId } from '../src/ids.ts'
import { serviceActor } from '../src/model/events.ts'
import type { Sql, SqlPart } from '../src/postgres/database.ts'
import { removeImports } from './imports/remove.ts'
import { forEachPage, ignoreStatus, purgeRows, type Throttle, whilePagesAreFull } from './throttle.ts'

/** Deletes the row in `streams` last, so that an interrupted job can continue. @throws if the project still exists */
export async function purgeProject(sql: Sql, projectId: string, throttle: Throttle): Promise<void> {
  const [project] = await sql`select id from projects where id = ${projectId}`
  if (project) throw new Error(`The project ${projectId} still exists, so nothing was deleted`)
  const ofProject = sql`project_id = ${projectId}`
  await removeImports(sql, ofProject, throttle)
  await purgeRows(sql, 'search_documents', ofProject, throttle)
  await sql`delete from search_cursors where project_id = ${projectId}`
  // A task that moves to another project while this job pauses between two statements must keep its children.
  const notMovedAway = sql`and not exists (
    select from tasks t where t.id = task_id and t.project_id <> ${projectId})`
  await forEachPage(throttle, nilId, async (after) => {
    const tasks = await sql<{ id: string }[]>`
      select id from tasks where project_id = ${projectId} and id > ${after} order by id, number limit ${throttle.batchRows}`
    const ids = tasks.map(({ id }) => id)
    await purgeChildren(sql, ids, throttle, notMovedAway)
    await sql`delete from tasks where id = any(${ids}::uuid[]) and project_id = ${projectId}`
    return ids.at(-1)
  })
  const webhooks = await sql<{ id: string }[]>`select id from webhooks where project_id = ${projectId}`
  // With a join instead of ids, Postgres would read all deliveries for each page.
  const ofWebhooks = sql`webhook_id = any(${webhooks.map(({ id }) => id)}::uuid[])`
  await purgeRows(sql, 'webhook_deliveries', ofWebhooks, throttle)
  for (const { name, table, parent, isDeletedByWorker } of model.all)
    if (parent === 'project' && !isDeletedByWorker && name !== 'task')
      await purgeRows(sql, getTableName(table), ofProject, throttle)
  await purgeRows(sql, 'api_tokens', sql`user_id in (select id from users where ${ofProject})`, throttle)
  await whilePagesAreFull({ ...throttle, batchRows: 1 }, async () => {
    const page = sql`select id from users where ${ofProject} limit ${throttle.batchRows}`
    // A name change makes all clients read names again, so a page without accounts records none.
    const { count } = await sql`
      with done as (delete from users where id = any(array(${page})) returning id) ${recordNameChange(sql, newId())}`
    return count
  })
  await purgeRows(sql, 'events', ofProject, throttle)
  await sql`delete from ready_cursors where project_id = ${projectId}`
  await sql`
    with deleted as (delete from streams where project_id = ${projectId}
      and not exists (select from projects where id = ${projectId}) returning project_id)
    insert into gone_projects select project_id from deleted on conflict do nothing`
}

/** A restored child remains: its last event is later than the deletion of the task. Jobs of old releases name no event. */
export async function purgeTask(
  sql: Sql,
  { taskId = '', eventId }: { taskId?: string; eventId?: string },
  throttle: Throttle,
): Promise<void> {
  const isOrphan = eventId
    ? sql`event_id < ${eventId}::uuid`
    : sql`not exists (select from tasks t where t.id = task_id)`
  await purgeChildren(sql, [taskId], throttle, sql`and ${isOrphan}`)
}

async function purgeChildren(
  sql: Sql,
  taskIds: string[],
  throttle: Throttle,
  condition: SqlPart,
): Promise<void> {
  if (taskIds.length === 0) return
  for (const { table } of model.ofTask)
    await purgeRows(sql, getTableName(table), sql`task_id = any(${taskIds}::uuid[]) ${condition}`, throttle)
}

/** Ends the claims of a removed member first, because they block other members, and then clears the fields with the member. */
export async function unassignMember(
  sql: Sql,
  run: Run,
  { projectId, userId }: { projectId: string; userId: string },
  throttle: Throttle,
): Promise<void> {
  // Each part has the order of an index. No cursor is needed, because the changed tasks no longer match.
  const columns = userFields.map((name) => [tasks[name].name, 'status, priority, id, created_at, number'])
  for (const [column = '', order = ''] of [['claimed_by', positionKey], ...columns])
    await whilePagesAreFull(throttle, async () => {
      const found = await sql<{ id: string }[]>`
        select id from tasks where project_id = ${projectId} and ${sql(column)} = ${userId}
        order by ${sql.unsafe(order)} limit ${throttle.batchRows}`
      if (found.length === 0) return 0
      const input = { projectId, userId, ids: found.map(({ id }) => id) }
      return run({ name: unassignTasks.name, input, caller: { userId: serviceActor } }).then(
        () => found.length,
        (error) => (ignoreStatus(409)(error), 0),
      )
    })
}

const pageRows = 50

interface DeletedAccount {
  userId?: string
  /** Missing in jobs of earlier releases, and of accounts that the recurring cleanup finds. */
  email?: string
  tokenIds?: string
}

/** Deletes the projects and memberships of a deleted account by commands, with the account as caller. */
export async function closeAccount(
  sql: Sql,
  run: Run,
  { userId = '', email, tokenIds = '' }: DeletedAccount,
  throttle: Throttle,
): Promise<void> {
  const [account] = await sql`select id from users where id = ${userId}`
  if (account) return
  const projects = sql`
    select id, jsonb_build_object('id', id) as input from projects where owner_id = ${userId}`
  const memberships = sql`
    select id, jsonb_build_object('projectId', project_id, 'memberId', id) as input from members where user_id = ${userId}`
  for (const [{ name }, query] of [[deleteProject, projects] as const, [removeMember, memberships] as const])
    await forEachPage(throttle, nilId, async (after) => {
      const rows = await sql<{ id: string; input: object }[]>`
        ${query} and id > ${after} order by id, created_at limit ${pageRows}`
      await Promise.all(
        rows.map(({ input }) => run({ name, input, caller: { userId } }).catch(ignoreStatus(404))),
      )
      return rows.at(-1)?.id
    })
  // Last, because many replies may take longer than a statement may.
  if (email) await purgeRows(sql, 'idempotency_keys', hasAddress(sql, { userId, email, tokenIds }), throttle)
}

/** SQL: true for a stored reply to an account with its email address. Another account may have the address now. */
const hasAddress = (sql: Sql, { userId, email, tokenIds }: Required<DeletedAccount>) => sql`
  (scope = any(${[userId, ...tokenIds.split(' ')]}::text[]) and strpos(body, ${email}) > 0
    or scope = ${`email:${email}`} and strpos(body, ${userId}) > 0 or scope = ${`forgot:${email}`})`
