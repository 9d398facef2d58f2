import type { Column } from '../postgres/columns.ts'

// Rows travel as one list for each column: Postgres takes a value out of a list for a quarter of what it takes to find
// it in a JSON object by its name.

/** The rows whose lists are the parameters from `first` on, under our names. */
export const rowsFrom = (columns: Column[], first: number): string =>
  `select ${columns.map((column, i) => `${unnested(column, `$${first + i}`)} as "${column.key}"`).join(', ')}`

const unnested = ({ type }: Column, list: string) =>
  type === 'jsonb'
    ? `unnest(string_to_array(${list}, e'\\n', ''))::jsonb`
    : `unnest(${list}::text::${type}[])`

/** Those parameters. */
export const listsOf = (columns: Column[], rows: object[]): string[] =>
  columns.map(({ key, type }) => {
    const values = rows.map((row) => (row as Record<string, unknown>)[key])
    if (type === 'jsonb') return documents(values)
    return `{${(type === 'text' ? values.map(quoted) : values.map(plain)).join()}}`
  })

/** One a line: JSON has no line breaks, so nothing in it must be quoted once more. */
const documents = (values: unknown[]) =>
  values.map((value) => (value == null ? '' : JSON.stringify(value))).join('\n')

/** Numbers, ids, instants: they are made here, and hold nothing that has a meaning in a list. */
const plain = (value: unknown) => value ?? 'null'

const special = /["\\]/g
const quoted = (value: unknown) => (value == null ? 'null' : `"${String(value).replace(special, '\\$&')}"`)

/** Columns as the database names them, and as our rows do. */
export const namesOf = (columns: Column[]) => columns.map(({ name }) => name).join(', ')
export const keysOf = (columns: Column[]) => columns.map(({ key }) => `"${key}"`).join(', ')
