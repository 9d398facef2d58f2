import type { Sql } from '../../src/postgres/database.ts'
import type { Webhook } from './schema.ts'

const columns = (sql: Sql) => sql`
  id, project_id, revision, url, types, max_events, secret, former_secret, former_until, created_at, disabled_at,
  disabled_reason, (select u.id from users u where u.id = webhooks.created_by) as created_by, cursor::float8 as cursor, failures, next_at`

/** All webhooks of a project, the oldest first. There are never many. */
export async function webhooksOf(sql: Sql, projectId: string): Promise<Webhook[]> {
  const rows = await sql<Webhook[]>`
    select ${columns(sql)} from webhooks where project_id = ${projectId} order by slot`
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
}

export async function webhookOf(sql: Sql, projectId: string, id: string): Promise<Webhook | undefined> {
  const rows = await sql<Webhook[]>`
    select ${columns(sql)} from webhooks where id = ${id} and project_id = ${projectId}`
  return rows[0]
}
