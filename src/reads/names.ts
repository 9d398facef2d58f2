import type { Sql } from '../postgres/database.ts'

/** The change that last gave an account another name, or removed one: what was seen of names holds until the next. */
export const lastRenaming = (sql: Sql) =>
  sql`coalesce((select change_id from people where one)::text, 'none')`

/** What an ETag says of the name it stands for, of account `u`, left joined. Nothing as long as it is the first one. */
export const nameTag = (sql: Sql) =>
  sql`case when u.id is null then ${goneTag} else coalesce('.' || u.renamed_by, '') end`

/** The same of an account that is gone. */
export const goneTag = '.gone'
