import type { FieldRow } from '../../drizzle/rows.ts'
import type { Snapshot } from '../../src/log/as-of.ts'
import { rowSources, unionOf } from '../../src/log/rows-at.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { storedForm } from '../fields/values.ts'

export const fieldPrefix = 'field.'

/** A parameter `field.<key>`, `field.<key>.min` or `field.<key>.max`. The field's type decides how `text` is read. */
export interface FieldParameter {
  name: string
  key: string
  bound?: 'min' | 'max'
  text: string
}

const NAME = /^field\.([a-z][a-z0-9_]{0,39})(?:\.(min|max))?$/

export const unknownFieldParameter = (name: string) =>
  badRequest(`${name.slice(0, 100)} must name a field of the project`)
const notOrdered = (name: string) => badRequest(`${name} must name a field of the type number or date`)
export function readFieldParameters(query: Record<string, unknown>): FieldParameter[] {
  const found: FieldParameter[] = []
  for (const name in query) {
    if (!name.startsWith(fieldPrefix)) continue
    const [, key, bound] = NAME.exec(name) ?? []
    if (!key) throw unknownFieldParameter(name)
    found.push({ name, key, bound: bound as FieldParameter['bound'], text: String(query[name]) })
  }
  return found
}

type Field = Pick<FieldRow, 'key' | 'type' | 'options'>

const NUMBER = /^-?\d{1,400}(\.\d{1,400})?(e[+-]?\d{1,3})?$/i

/** Returns the value that the text means for a type of fields, or the text itself. */
function valueIn(text: string, type: Field['type']): string | number | boolean {
  if (type === 'number') return NUMBER.test(text) ? Number(text) : text
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text
}

/** Returns the value of the parameter as JSON in the stored form. @throws HttpError 400 if the field is unknown or has another type */
export function fieldValue({ name, bound, text }: FieldParameter, field: Field | undefined): string {
  if (!field) throw unknownFieldParameter(name)
  const { type } = field
  if (bound && type !== 'number' && type !== 'date') throw notOrdered(name)
  return JSON.stringify(storedForm(field, valueIn(text.trim(), type), name))
}

/** SQL for each parameter `field.*`. @throws HttpError 400 if a field is unknown or has another type */
export async function fieldConditions(
  sql: Sql,
  { projectId, fields: parameters }: { projectId?: string; fields?: FieldParameter[] },
  snapshot?: Snapshot,
): Promise<SqlPart[]> {
  if (!parameters) return []
  const fieldsIn = (source: SqlPart) =>
    sql`select key, type, options from ${source} f where project_id = ${projectId!}`
  const fields = await sql<Field[]>`${unionOf(sql, rowSources(sql, 'field', snapshot), fieldsIn)}`
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
