import { getTableColumns, is, SQL } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Row } from 'postgres'
import type { Sql, SqlPart } from './database.ts'

export interface Column {
  key: string
  name: string
  type: string
  hasDefault?: boolean
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

/** The columns of an event `e` without its rows. */
export const eventFields = (sql: Sql) => sql`
  e.project_id, e.seq::float8 as seq, e.id, e.type, e.entity, e.entity_id, e.task_id,
  e.batch::float8 as batch, e.undoes::float8 as undoes, e.actor_id, e.at`

/** Both rows of an event `e`: the rows of integrations are in `told`. */
export const eventRows = (sql: Sql) => sql`
  coalesce(e.before, e.told -> 'before') as before, coalesce(e.after, e.told -> 'after') as after`
