import { getTableColumns, is, SQL } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
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

const columns = new Map<PgTable, Column[]>()

/** The columns of a table, described once: queries ask for them each time. */
export function columnsOf(table: PgTable): Column[] {
  const described = columns.get(table) ?? Object.entries(getTableColumns(table)).map(describe)
  columns.set(table, described)
  return described
}

const describe = ([key, column]: [string, PgColumn]): Column => ({
  key,
  name: column.name,
  type: column.getSQLType(),
  hasDefault: column.hasDefault,
  fallback: is(column.default, SQL) ? undefined : column.default,
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
