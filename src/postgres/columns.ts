import { getTableColumns, is, SQL } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Row } from 'postgres'
import type { Sql, SqlPart } from './database.ts'

export interface Column {
  /** As our rows call it. */
  key: string
  /** As the database does. */
  name: string
  type: string
  hasDefault?: boolean
  /** The default, where the table's definition states it as a value. */
  fallback?: unknown
}

export const columnsOf = (table: PgTable): Column[] =>
  Object.entries(getTableColumns(table)).map(([key, column]) => {
    return {
      key,
      name: column.name,
      type: column.getSQLType(),
      hasDefault: column.hasDefault,
      fallback: is(column.default, SQL) ? undefined : column.default,
    }
  })

/**
 * The columns of a table `alias` that this release knows, in place of `*`: a later release may add some while this one
 * runs, and Postgres refuses a prepared statement whose result would be another.
 */
export const known = (sql: Sql, table: PgTable, alias: string): SqlPart =>
  sql.unsafe<Row[]>(
    columnsOf(table)
      .map(({ name }) => `${alias}.${name}`)
      .join(', '),
  )
