import type { Sql, SqlPart } from '../postgres/database.ts'

/** SQL for an id that changes when any account is renamed or deleted. Cached names are valid until then. */
export const lastRenaming = (sql: Sql) =>
  sql`coalesce((select change_id from people where one)::text, 'none')`

/** SQL for a part of an ETag that changes with the name of account `u` (left joined). Empty before a renaming. */
export const nameTag = (sql: Sql) =>
  sql`case when u.id is null then ${deletedTag} else coalesce('.' || u.renamed_by, '') end`

export const deletedTag = '.gone'

/** Like `nameTag`, for an account's id, as a subquery: Postgres runs the subquery once if all rows have the same id. */
export const nameTagOf = (sql: Sql, userId: SqlPart) =>
  sql`coalesce((select ${nameTag(sql)} from users u where u.id = ${userId}), ${deletedTag})`
