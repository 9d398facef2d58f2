import { ImportError } from '../../../items.ts'
import { type Mapping, valueFor } from '../../../mapping.ts'
import { FieldKeys } from '../../../convert/field-keys.ts'
import { fieldName, usualTargets } from './header-names.ts'
import { columnsError, type Target, targetNamed } from './targets.ts'

export interface Column {
  index: number
  header: string
  plain: string
  /** Null: not imported. */
  target: Target | null
  /** The key of the column's custom field, for values that have no other target. */
  key: string
  /** True if the header has no usual target, or another column has it. The column then becomes a custom field. */
  isUnknown: boolean
}

/** Returns the plain, English name of a header. */
export type NameOf = (header: string) => string

/** The targets of a source's columns, by plain header. Null: not imported. */
export type KnownColumns = Record<string, Target | null>

/** Returns the target in the mapping; undefined if it has none. */
const givenIn = ({ columns }: Mapping, header: string): string | null | undefined => valueFor(columns, header)

export const isTitle =
  (known: KnownColumns | undefined, mapping: Mapping, nameOf: NameOf) => (header: string) => {
    const given = givenIn(mapping, header)
    if (given !== undefined) return given === 'title'
    const name = nameOf(header)
    return known ? known[name] === 'title' : usualTargets([name]).get(name) === 'title'
  }

/**
 * Returns the columns with their targets: from the mapping, else from the source or the usual headers, else a field.
 * @throws ImportError if the mapping names an unknown field, or no column or several columns are the title
 */
export function columnsOf(names: string[], mapping: Mapping, nameOf: NameOf, known?: KnownColumns): Column[] {
  const given = mapping.columns ?? {}
  const error = columnsError(given)
  if (error) throw new ImportError(error)
  const taken = new Set(Object.values(given).map((name) => name && targetNamed(name)))
  const free = names.filter((name) => givenIn(mapping, name) === undefined).map(nameOf)
  const usual = known ? new Map<string, Target | null>(Object.entries(known)) : usualTargets(free)
  const keys = new FieldKeys()
  const columns = names.map((name, index): Column => {
    const header = name || `Column ${index + 1}`
    const key = keys.keyFor(fieldName(header), header)
    const own = givenIn(mapping, header)
    const named = nameOf(header)
    if (own !== undefined) {
      const target = own === null ? null : targetNamed(own)!
      return { index, header, plain: named, target, key, isUnknown: false }
    }
    const usualTarget = header.startsWith('field.') ? targetNamed(header) : usual.get(named)
    const isFree =
      usualTarget !== undefined &&
      (usualTarget === null || !taken.has(usualTarget) || usualTarget.startsWith('field.'))
    const target = isFree ? usualTarget : (`field.${key}` as const)
    return { index, header, plain: named, target, key, isUnknown: !isFree }
  })
  checkTitle(columns)
  return columns
}

/** Returns a message with the headers in the mapping that the file lacks, such as misspelled headers. */
export function missingColumns({ columns: given = {} }: Mapping, columns: Column[]): string | undefined {
  const headers = new Set(columns.map(({ header }) => header.normalize()))
  const missing = Object.keys(given).filter((header) => !headers.has(header.normalize()))
  if (missing.length === 0) return undefined
  const shown = missing.slice(0, 10).map((header) => JSON.stringify(header.slice(0, 50)))
  const others = missing.length > shown.length ? `, and ${missing.length - shown.length} others` : ''
  return `The file has no column for these names in mapping.columns: ${shown.join(', ')}${others}`
}

function checkTitle(columns: Column[]): void {
  const found = columns.filter(({ target }) => target === 'title')
  const titles = [...new Set(found.map(({ header }) => header))]
  if (titles.length === 1) return
  const headers = columns.map(({ header }) => header.slice(0, 50)).slice(0, 20)
  throw new ImportError(
    titles.length > 1
      ? `Only one column can be the title, but these are: ${titles.slice(0, 10).join(', ')}`
      : `No column is the title. Send mapping.columns, such as {${JSON.stringify(headers[0])}: "title"}. The columns are ${headers.join(', ')}`,
  )
}
