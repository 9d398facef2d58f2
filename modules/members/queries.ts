import type { MemberRow } from '../../drizzle/schema.ts'
import type { Sql } from '../../src/core/database.ts'
import { type Page, startOf } from '../../src/core/pages.ts'

/** A page of a project's members, in the order they came, with one row more than asked. There are never many to sort. */
export const membersOf = (sql: Sql, projectId: string, page: Page) => sql<MemberRow[]>`
  select * from members
  where project_id = ${projectId} and id > ${startOf(page)}
  order by id, created_at limit ${page.limit + 1}`
