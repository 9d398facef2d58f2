import type { Sql, SqlPart } from '../postgres/database.ts'

/** The last change of any account's name, or removal of an account: names that were read hold until the next. */
export const lastRenaming = (sql: Sql) =>
  sql`coalesce((select change_id from people where one)::text, 'none')`

/** The part of an ETag for the name of account `u`, left joined. Empty as long as it is the first name. */
export const nameTag = (sql: Sql) =>
  sql`case when u.id is null then ${goneTag} else coalesce('.' || u.renamed_by, '') end`

export const goneTag = '.gone'

/** The same of the account with this id: a subquery, which runs once where all rows have the same id. */
export const nameTagOf = (sql: Sql, userId: SqlPart) =>
  sql`coalesce((select ${nameTag(sql)} from users u where u.id = ${userId}), ${goneTag})`
