import { getTableColumns, is, SQL } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Row } from 'postgres'
import type { Sql, SqlPart } from './database.ts'

export interface Column {
  key: string
  name: string
  type: string
  hasDefault?: boolean
  isNullable?: boolean
  fallback?: unknown
}

const columnsByTable = new Map<PgTable, Column[]>()

export function columnsOf(table: PgTable): Column[] {
  const described = columnsByTable.get(table) ?? Object.entries(getTableColumns(table)).map(describe)
  columnsByTable.set(table, described)
  return described
}

const describe = ([key, column]: [string, PgColumn]): Column => ({
  key,
  name: column.name,
  type: column.getSQLType(),
  hasDefault: column.hasDefault,
  isNullable: !column.notNull,
  fallback: is(column.default, SQL) ? undefined : column.default,
})

/** With `*`, Postgres would reject a prepared statement after a later release has added columns. */
export const columnList = (sql: Sql, table: PgTable, alias: string): SqlPart =>
  sql.unsafe<Row[]>(
    columnsOf(table)
      .map(({ name }) => `${alias}.${name}`)
      .join(', '),
  )

export const eventFields = (sql: Sql) => sql`
  e.project_id, e.seq::float8 as seq, e.id, e.type, e.entity, e.entity_id, e.task_id,
  e.batch::float8 as batch, e.undoes::float8 as undoes, e.actor_id, e.at`

/** Old events of webhooks, service accounts and tokens store `before` and `after` in `told`. */
export const eventRows = (sql: Sql) => sql`
  coalesce(e.before, e.told -> 'before') as before, coalesce(e.after, e.told -> 'after') as after`
