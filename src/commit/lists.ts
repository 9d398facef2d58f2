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
    const isJson = type === 'jsonb'
    const textOf = isJson ? jsonOf : type === 'text' ? quoted : plain
    const separator = isJson ? '\n' : ','
    let list = ''
    let before = ''
    for (const row of rows) {
      list += before + textOf((row as Record<string, unknown>)[key])
      before = separator
    }
    return isJson ? list : `{${list}}`
  })

/** One a line: JSON has no line breaks, so nothing in it must be quoted once more. */
const jsonOf = (value: unknown): string => (value == null ? '' : JSON.stringify(value))

/** Numbers, ids, instants: they are made here, and hold nothing that has a meaning in a list. */
const plain = (value: unknown): string => (value == null ? 'null' : String(value))

const special = /["\\]/
const allSpecial = /["\\]/g
function quoted(value: unknown): string {
  if (value == null) return 'null'
  const text = String(value)
  return `"${special.test(text) ? text.replace(allSpecial, '\\$&') : text}"`
}

/** Columns as the database names them, and as our rows do. */
export const namesOf = (columns: Column[]) => columns.map(({ name }) => name).join(', ')
export const keysOf = (columns: Column[]) => columns.map(({ key }) => `"${key}"`).join(', ')
