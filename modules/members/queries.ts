import type { MemberRow } from '../../drizzle/rows.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Moment } from '../../src/log/moments.ts'
import { firstThen, rowsThen } from '../../src/log/rows-then.ts'
import { unprepared } from '../../src/postgres/queries.ts'
import { type Page, startOf } from '../../src/reads/pages.ts'
import { members as table } from '../../drizzle/schema/members.ts'
import { known } from '../../src/postgres/columns.ts'

/** A member with its user, who has no name once the account is gone. */
export interface ListedMember extends MemberRow {
  userName: string | null
  userEmail: string | null
}

/** A page of a project's members, in the order they came, with one row more than asked. There are never many to sort. */
export const membersOf = (sql: Sql, projectId: string, page: Page, members = sql`members`) => sql<
  ListedMember[]
>`
  select ${known(sql, table, 'm')}, u.name as user_name, u.email as user_email from ${members} m left join users u on u.id = m.user_id
  where m.project_id = ${projectId} and m.id > ${startOf(page)}
  order by m.id, m.created_at limit ${page.limit + 1}`

/** The same page as it stood, with people as they are called now. */
export function membersThen(sql: Sql, moment: Moment, page: Page) {
  const first = {
    where: sql`t.project_id = ${moment.projectId} and t.id > ${startOf(page)}`,
    by: sql`t.id, t.created_at`,
    limit: page.limit + 1,
  }
  const members = firstThen(sql, rowsThen(sql, 'member', moment), first)
  return unprepared(membersOf(sql, moment.projectId, page, members))
}
