import { getTableColumns, is, SQL } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Row } from 'postgres'
import type { Sql, SqlPart } from './database.ts'

export interface Column {
  /** The property of rows. */
  key: string
  name: string
  type: string
  hasDefault?: boolean
  /** The default, where the table's definition has it as a value. */
  fallback?: unknown
}

const columns = new Map<PgTable, Column[]>()

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
 * The columns of a table `alias`, in place of `*`: a later release may add columns while this one runs, and Postgres
 * rejects a prepared statement whose result changes.
 */
export const known = (sql: Sql, table: PgTable, alias: string): SqlPart =>
  sql.unsafe<Row[]>(
    columnsOf(table)
      .map(({ name }) => `${alias}.${name}`)
      .join(', '),
  )
