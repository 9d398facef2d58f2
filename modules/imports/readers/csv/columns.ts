import { nearest } from '../../../../src/schema/nearest.ts'
import { FieldKeys } from '../../convert/fields.ts'
import { ImportError } from '../../items.ts'
import { type Mapping, valueFor } from '../../mapping.ts'
import { englishName, fieldName, targets } from './headers.ts'

const aliases = new Map([
  ['section', 'list'],
  ['key', 'id'],
  ['comment', 'comments'],
])

const targetNamed = (name: string): string | undefined =>
  targets.includes(name) || /^field\.[a-z][a-z0-9_]{0,39}$/.test(name) ? name : aliases.get(name)

/** Returns the error of a mapping with an unknown field, or undefined. */
export function columnsError(columns: Record<string, string | null> = {}): string | undefined {
  for (const [header, name] of Object.entries(columns)) {
    if (name === null || targetNamed(name)) continue
    const suggestion = name.startsWith('field.') ? undefined : nearest(name, targets)
    const end = suggestion ? `; did you mean ${suggestion}?` : ''
    return `mapping.columns.${header.slice(0, 100)} must be null, field.<key>, or one of ${targets.join(', ')}${end}`
  }
  return undefined
}

export interface Column {
  index: number
  header: string
  plain: string
  /** Null: not imported. */
  target: string | null
  /** The key of the column's custom field, for values that have no other target. */
  key: string
  /** True if the header has no usual target, or another column has it. The column then becomes a custom field. */
  isUnknown: boolean
}

/** Returns the targets of plain, English headers. */
export type TargetsOf = (headers: string[]) => Map<string, string | null>

/** Returns the test for headers of columns that can be the title. */
export const isTitle =
  ({ columns }: Mapping, targetsOf: TargetsOf) =>
  (header: string) => {
    const given = valueFor(columns, header)
    if (given !== undefined) return given === 'title'
    const name = englishName(header)
    return targetsOf([name]).get(name) === 'title'
  }

/**
 * Returns the columns with their targets: from the mapping, else from the source or the usual headers, else a field.
 * @throws ImportError if the mapping names an unknown field, or no column or several columns are the title
 */
export function columnsOf(names: string[], { columns: given = {} }: Mapping, targetsOf: TargetsOf): Column[] {
  const error = columnsError(given)
  if (error) throw new ImportError(error)
  const taken = new Set(Object.values(given).map((name) => name && targetNamed(name)))
  const usual = targetsOf(names.filter((name) => valueFor(given, name) === undefined).map(englishName))
  const keys = new FieldKeys()
  const columns = names.map((name, index): Column => {
    const header = name || `Column ${index + 1}`
    const column = { index, header, plain: englishName(header), key: keys.keyFor(fieldName(header), header) }
    const own = valueFor(given, header)
    if (own !== undefined) return { ...column, target: own && targetNamed(own)!, isUnknown: false }
    const target = header.startsWith('field.') ? targetNamed(header) : usual.get(column.plain)
    const isFree = target === null || target?.startsWith('field.') || !taken.has(target ?? null)
    if (target === undefined || !isFree) return { ...column, target: `field.${column.key}`, isUnknown: true }
    return { ...column, target, isUnknown: false }
  })
  checkTitle(columns)
  return columns
}

function checkTitle(columns: Column[]): void {
  const titles = new Set(columns.flatMap(({ target, header }) => (target === 'title' ? [header] : [])))
  if (titles.size === 1) return
  const headers = columns.map(({ header }) => header.slice(0, 50)).slice(0, 20)
  throw new ImportError(
    titles.size > 1
      ? `Only one column can be the title, but these are: ${[...titles].slice(0, 10).join(', ')}`
      : `No column is the title. Send mapping.columns, such as {${JSON.stringify(headers[0])}: "title"}. The columns are ${headers.join(', ')}`,
  )
}

/** Returns lines for the report: headers in the mapping that the file lacks, and a header in an unknown language. */
export function headerMessages({ columns: given = {} }: Mapping, columns: Column[]): string[] {
  const headers = new Set(columns.map(({ header }) => header.normalize()))
  const missing = Object.keys(given).filter((header) => !headers.has(header.normalize()))
  const shown = missing.slice(0, 10).map((header) => JSON.stringify(header.slice(0, 50)))
  const others = missing.length > shown.length ? `, and ${missing.length - shown.length} others` : ''
  const unknown = columns.filter(({ isUnknown }) => isUnknown)
  const known = columns.filter(({ isUnknown, target }) => !isUnknown && target !== 'title')
  const minUnknown = known.length > 0 ? 2 : 3
  const messages: string[] = []
  if (missing.length > 0)
    messages.push(`The file has no column for these names in mapping.columns: ${shown.join(', ')}${others}`)
  if (known.every(({ target }) => target === 'id') && unknown.length >= minUnknown)
    messages.push(
      `Only the columns of titles and ids were recognized. If others are a status, people or dates, send mapping.columns, such as {${JSON.stringify(unknown[0]!.header.slice(0, 50))}: "status"}`,
    )
  return messages
}
