import type { FieldRow } from '../../drizzle/rows.ts'
import type { Snapshot } from '../../src/log/as-of.ts'
import { rowSources } from '../../src/log/rows-at.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { type FieldParameter, fieldValue } from './field-parameters.ts'

type Field = Pick<FieldRow, 'key' | 'type' | 'options'>

/** SQL for each parameter `field.*`. @throws HttpError 400 if a field is unknown or has another type */
export async function fieldConditions(
  sql: Sql,
  { projectId, fields: parameters }: { projectId?: string; fields?: FieldParameter[] },
  snapshot?: Snapshot,
): Promise<SqlPart[]> {
  if (!parameters) return []
  const rows = rowSources(sql, 'field', snapshot)
    .map((source) => sql`select key, type, options from ${source} f where project_id = ${projectId!}`)
    .reduce((all, one): SqlPart => sql`${all} union all ${one}`)
  const fields = await sql<Field[]>`${rows}`
  return parameters.map((parameter) => {
    const field = fields.find(({ key }) => key === parameter.key)
    return condition(sql, parameter, fieldValue(parameter, field), field?.type === 'date')
  })
}

/** Numbers are compared as JSON. A task may still store a value of an earlier field that had the same key. */
function condition(sql: Sql, { key, bound }: FieldParameter, value: string, isDate: boolean): SqlPart {
  const stored = sql`(t.fields -> ${key}::text)`
  if (!bound) return sql`${stored} = ${value}::text::jsonb`
  const compare = bound === 'min' ? sql`>=` : sql`<=`
  if (!isDate) return sql`(jsonb_typeof${stored} = 'number' and ${stored} ${compare} ${value}::text::jsonb)`
  return sql`((${stored} ->> 'date') collate "C" ${compare} ${JSON.parse(value).date}::text)`
}
