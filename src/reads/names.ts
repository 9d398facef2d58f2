import type { Sql, SqlPart } from '../postgres/database.ts'

/** The change that last gave an account another name, or removed one: what was seen of names holds until the next. */
export const lastRenaming = (sql: Sql) =>
  sql`coalesce((select change_id from people where one)::text, 'none')`

/** What an ETag says of the name it stands for, of account `u`, left joined. Nothing as long as it is the first one. */
export const nameTag = (sql: Sql) =>
  sql`case when u.id is null then ${goneTag} else coalesce('.' || u.renamed_by, '') end`

/** The same of an account that is deleted. */
export const goneTag = '.gone'

/** The same of the account with this id: a subquery, which runs once where all rows have the same id. */
export const nameTagOf = (sql: Sql, userId: SqlPart) =>
  sql`coalesce((select ${nameTag(sql)} from users u where u.id = ${userId}), ${goneTag})`
