import type { TaskRow } from '../../drizzle/rows.ts'
import { tasks } from '../../drizzle/schema/tasks.ts'
import { type Column, columnsOf } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { isoInstant } from '../../src/postgres/values.ts'
import { taskView } from '../tasks/schema.ts'

/** Separates values. If a value contains this character, the number of values is wrong. */
const separator = '\x1f'

type Parse = (text: string) => unknown

const same: Parse = (text) => text
const parsers: Record<string, Parse> = {
  integer: Number,
  text: same,
  uuid: same,
  'timestamp(3) with time zone': isoInstant,
}

/** The fields with a column of their own. Of a plain task, the other fields have the values in `defaults`. */
const stored: { name: string; value: string; parse: Parse }[] = []
const defaults: Record<string, unknown> = {}
const conditions: string[] = []
const columns = new Map(columnsOf(tasks).map((column) => [column.key, column]))
const { schema, computed = {} } = taskView
for (const name in schema.properties) {
  const { ifSet } = computed[name] ?? {}
  const column = columns.get(ifSet?.column ?? name)!
  const parse = ifSet?.isColumn === false ? undefined : parsers[column.type]
  defaults[name] = ifSet?.empty
  if (parse) stored.push({ name, value: valueOf(column), parse: orNull(column, parse) })
  else conditions.push(`t.${column.name} is null`)
}
/** Fields with a column of which the view computes another value. */
const replaced = Object.entries(computed).filter(([name, { ifSet }]) => !ifSet && columns.has(name))

/** SQL for the value of a column. Replaces null by an empty text, because `concat_ws` omits null. */
function valueOf({ name, type, isNullable }: Column): string {
  if (!isNullable) return `t.${name}`
  return `coalesce(${type === 'text' ? `'=' || t.${name}` : `t.${name}::text`}, '')`
}

function orNull({ type, isNullable }: Column, parse: Parse): Parse {
  if (!isNullable) return parse
  return type === 'text'
    ? (text) => (text === '' ? null : text.slice(1))
    : (text) => (text === '' ? null : parse(text))
}

/** SQL for the columns of tasks `t` that `joined` needs. */
export const joinedColumns = `case when t.id is not null then concat_ws('${separator}', ${stored.map(({ value }) => value).join(', ')}) end as shown,
  ${conditions.join(' and ')} as is_plain`

/**
 * SQL that joins all values of rows into one text, because postgres.js parses each value separately: a page of 20 tasks
 * takes this process half the time (measured). `offset 0` keeps Postgres from computing the values once for each aggregate.
 */
export const joined = (sql: Sql, rows: SqlPart): SqlPart => sql`
  select string_agg(shown, ${sql.unsafe(`'${separator}'`)}) as joined, count(shown)::int4 as count,
    bool_and(is_plain) as is_plain from (${rows} offset 0) r`

export interface JoinedRows {
  joined: string | null
  count: number
  isPlain: boolean | null
}

/** Returns the tasks as their view shows them; undefined if not all tasks are plain. */
export function readJoined({ joined, count, isPlain }: JoinedRows): TaskRow[] | undefined {
  if (!isPlain) return undefined
  const texts = joined === null ? [] : joined.split(separator)
  if (texts.length !== count * stored.length) return undefined
  const rows: TaskRow[] = []
  for (let at = 0; at < texts.length;) {
    const row = { ...defaults }
    for (const { name, parse } of stored) row[name] = parse(texts[at++]!)
    for (const [name, compute] of replaced) row[name] = compute(row as never)
    rows.push(row as never)
  }
  return rows
}
