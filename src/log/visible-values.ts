import { getTableName } from 'drizzle-orm'
import { definitionOf, type ReferenceField } from '../model/model.ts'
import { columnsOf } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'

/** SQL for the keys and values of a column, in their order, each with `is_present`: whether the value is shown. */
export function keyedValues(
  sql: Sql,
  { to, column, values }: ReferenceField,
  alias: string,
  snapshot?: { projectId: string; sources: SqlPart[] },
): SqlPart {
  const { key, fitsSql } = values!
  const { table } = definitionOf(to)
  const columns = columnsOf(table)
  const keyName = columns.find((one) => one.key === key)!.name
  const fits = sql`${sql(`r.${keyName}`)} = x.id and ${sql.unsafe(fitsSql)}`
  const present = snapshot
    ? sql`exists (select from jsonb_to_record(${rowsByKey(sql, keyName, snapshot)} -> x.id)
        as r(${sql.unsafe(columns.map(({ name, type }) => `${name} ${type}`).join(', '))}) where ${fits})`
    : sql`exists (select from ${sql(getTableName(table))} r
        where r.project_id = ${sql(`${alias}.project_id`)} and ${fits})`
  return sql`select x.id, x.n, x.value, ${present} as is_present
    from jsonb_each(${sql(`${alias}.${column.name}`)}) with ordinality x(id, value, n)`
}

/** SQL that Postgres evaluates once for all rows of a list, because it does not depend on a row. */
function rowsByKey(
  sql: Sql,
  keyName: string,
  { projectId, sources }: { projectId: string; sources: SqlPart[] },
): SqlPart {
  const rows = sources
    .map((source): SqlPart => sql`select * from ${source} o where project_id = ${projectId}`)
    .reduce((all, one): SqlPart => sql`${all} union all ${one}`)
  return sql`(select jsonb_object_agg(${sql(`o.${keyName}`)}, to_jsonb(o)) from (${rows}) o)`
}

/** SQL for the object of the shown values; null if there are none. */
export const visibleValues = (sql: Sql, { column }: ReferenceField, alias: string, rows: SqlPart): SqlPart =>
  sql`case when ${sql(`${alias}.${column.name}`)} is not null then
    (select jsonb_object_agg(f.id, f.value) from (${rows}) f where f.is_present) end`
