import type { Sql } from '../../src/postgres/database.ts'
import { type Page, startOf } from '../../src/reads/pages.ts'
import type { ServiceAccount } from './schema.ts'

/** A page of a project's service accounts, oldest first, with one row more than asked. There are never many to sort. */
export const serviceAccountsOf = (sql: Sql, projectId: string, page: Page) => sql<ServiceAccount[]>`
  select u.id, u.name, m.project_id, m.id as member_id, m.role, u.created_at, m.event_id,
    (select c.id from users c where c.id = u.created_by) as created_by
  from users u join members m on m.project_id = u.project_id and m.user_id = u.id
  where u.project_id = ${projectId} and u.id > ${startOf(page)} order by u.id limit ${page.limit + 1}`

/** The version of a service account's tokens; undefined where the project has no such account. */
export async function versionOf(sql: Sql, projectId: string, id: string): Promise<number | undefined> {
  const [row] = await sql<{ version: number }[]>`
    select u.token_version as version from users u join members m on m.project_id = u.project_id and m.user_id = u.id
    where u.id = ${id} and u.project_id = ${projectId}`
  return row?.version
}
