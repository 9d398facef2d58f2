import type { Sql, SqlPart } from '../postgres/database.ts'

/** SQL for the last change of any account's name, or deletion of an account. Names that were read stay correct until the next change. */
export const lastRenaming = (sql: Sql) =>
  sql`coalesce((select change_id from people where one)::text, 'none')`

/** SQL for the part of an ETag that identifies the name of account `u`, left joined. Empty until the first change of name. */
export const nameTag = (sql: Sql) =>
  sql`case when u.id is null then ${deletedTag} else coalesce('.' || u.renamed_by, '') end`

export const deletedTag = '.gone'

/** The same for an account's id, as a subquery: Postgres runs it once if all rows have the same id. */
export const nameTagOf = (sql: Sql, userId: SqlPart) =>
  sql`coalesce((select ${nameTag(sql)} from users u where u.id = ${userId}), ${deletedTag})`
