import { getTableColumns } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Sql } from './database.ts'

/**
 * The columns of a table `alias` that this release knows, in place of `*`: a later release may add some while this one
 * runs, and Postgres refuses a prepared statement whose result would be another.
 */
export const known = (sql: Sql, table: PgTable, alias: string) =>
  sql.unsafe(
    Object.values(getTableColumns(table))
      .map(({ name }) => `${alias}.${name}`)
      .join(', '),
  )
