import { model } from '../../../../src/model/model.ts'
import { nearest } from '../../../../src/schema/validation.ts'
import { fieldPrefix } from '../../../exports/cells.ts'
import { FieldKeys } from '../../convert/fields.ts'
import { type FieldItem, ImportError } from '../../items.ts'
import { type Mapping, valueFor } from '../../mapping.ts'
import { type Dates, type First, orderOf } from './dates.ts'
import {
  childPrefix,
  type ColumnFormat,
  declared,
  englishName,
  fieldName,
  targets,
  targetsOf,
} from './headers.ts'
import type { Row } from './rows.ts'
import { answerOf } from './values.ts'

const aliases = new Map([
  ['section', 'list'],
  ['key', 'id'],
  ['comment', 'comments'],
])

const targetNamed = (name: string): string | undefined =>
  targets.includes(name) ||
  /^field\.[a-z][a-z0-9_]{0,39}$/.test(name) ||
  model().ofTask.some((child) => name === childPrefix + child.name)
    ? name
    : aliases.get(name)

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
  /** True if the values show the order of day and month. */
  hasDates: boolean
  /** The types that fit all values read so far. Absent: the column has no values. */
  types?: CheckedType[]
  /** The numbers of decimals, such as 1 for 2.5, and whether some decimals end with 0. */
  decimals: Set<number>
  endsWithZero?: boolean
  hasOtherAnswers?: boolean
}
export type ReadColumn = Column & { target: string }

/** Returns the test for headers of columns that can be the title. */
export const isTitle =
  ({ columns }: Mapping, format: ColumnFormat) =>
  (header: string) => {
    const given = valueFor(columns, header)
    const name = englishName(header)
    return (given === undefined ? targetsOf([name], format).get(name) : given) === 'title'
  }

/**
 * Returns the columns with their targets: from the mapping, else from the source or the usual headers, else a field.
 * @throws ImportError if no column or several columns are the title
 */
export function columnsOf(names: string[], { columns: given = {} }: Mapping, format: ColumnFormat): Column[] {
  const taken = new Set(Object.values(given).map((name) => name && targetNamed(name)))
  const free = names.filter((name) => valueFor(given, name) === undefined)
  const usual = targetsOf(free.map(englishName), format)
  const keys = new FieldKeys()
  const columns = names.map((name, index): Column => {
    const header = name || `Column ${index + 1}`
    const plain = englishName(header)
    const key = keys.keyFor(fieldName(header), header)
    const own = valueFor(given, header)
    const found = header.startsWith(fieldPrefix) ? targetNamed(header) : usual.get(plain)
    const isFree = found === null || found?.startsWith(fieldPrefix) || !taken.has(found ?? null)
    const known = own === undefined ? (isFree ? found : undefined) : own && targetNamed(own)
    const target = known === undefined ? fieldPrefix + key : known
    const hasDates =
      /\b(date|start|started|updated|modified|changed)\b/.test(plain) ||
      ['createdAt', 'completed'].includes(target ?? '') ||
      declared.get(target ?? '')?.kind?.is === 'instant'
    const isUnknown = known === undefined
    return { index, header, plain, target, key, isUnknown, hasDates, decimals: new Set() }
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
  const isUnread =
    known.every(({ target }) => target === 'id') && unknown.length >= (known.length > 0 ? 2 : 3)
  return [
    missing.length > 0
      ? `The file has no column for these names in mapping.columns: ${shown.join(', ')}${others}`
      : [],
    isUnread
      ? `Only the columns of titles and ids were recognized. If others are a status, people or dates, send mapping.columns, such as {${JSON.stringify(unknown[0]!.header.slice(0, 50))}: "status"}`
      : [],
  ].flat()
}

const shapes = {
  number: (text: string) => /^-?(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(text) || isShortest(text),
  boolean: (text: string) => /^(true|false)$/i.test(text),
  date: (text: string) => /^[12]\d{3}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text),
}
type CheckedType = keyof typeof shapes

/** True for numbers such as 1e+21 and 0.1234567, as JSON and our exports have them. */
const isShortest = (text: string) => /^-?\d(\.\d+)?(e[+-]\d+)?$/.test(text) && String(Number(text)) === text

/** A project has at most this many fields. Further columns go to the foot of the description. */
const maxFields = 50

/** Determines from all rows which columns have values, the types of fields, and the order of day and month. */
export class Survey {
  /** The first date of each order, and whether its numbers show the order. */
  private readonly orders = new Map<First, { separator?: string; certain?: string }>()

  constructor(
    private readonly columns: Column[],
    private readonly decode = (text: string) => text,
  ) {}

  scan(row: Row): void {
    for (const column of this.columns) {
      if (column.target === null || (column.types?.length === 0 && !column.hasDates)) continue
      const text = this.decode(row.at(column.index)).trim()
      if (text !== '') this.addType(column, text)
      if (text !== '' && column.hasDates) this.addDate(column, text)
    }
  }

  private addType(column: Column, text: string): void {
    // The version 1.0 is no number. Our export writes each number and boolean in one form, so TRUE is a text.
    const isOwn = column.header.startsWith(fieldPrefix)
    const isVersion = /\bversions?\b/.test(column.plain) && !isOwn
    const types = column.types ?? (isVersion ? [] : (['number', 'boolean', 'date'] as const))
    column.types = types.filter((type) => {
      const ownForm = type === 'number' ? String(Number(text)) : text.toLowerCase()
      return shapes[type](text) && (!isOwn || text === ownForm)
    })
    const decimals = /\.(\d+)/.exec(text)?.[1] ?? ''
    if (!isOwn && types.length > 0) column.decimals.add(decimals.length)
    if (!isOwn) column.endsWithZero ||= decimals.endsWith('0')
    if (column.target === 'completed') column.hasOtherAnswers ||= answerOf(text, column.header) === 'other'
  }

  private addDate({ isUnknown }: Column, text: string): void {
    const { usual, certain, separator } = orderOf(text)
    if (!usual) return
    const known = this.orders.get(usual)?.certain
    // Dates in custom fields stay as they are, so the report does not mention them.
    this.orders.set(usual, { separator, certain: known ?? (isUnknown ? undefined : certain && text) })
  }

  /** Returns a message with a date that has another order of day and month than the given format. */
  otherOrder({ format, first }: Dates): string[] {
    const date = format && first && this.orders.get(first === 'day' ? 'month' : 'day')?.certain
    return date
      ? [
          `The date "${date}" does not have the order of day and month in mapping.dateFormat. Such dates were read in the only possible order`,
        ]
      : []
  }

  /** Sets the order of day and month, unless it is given. Returns the format, if the rows agree on the order. */
  decideOrder(dates: Dates): string | undefined {
    if (dates.first || dates.format || this.orders.size !== 1) return undefined
    const [[first, { separator }]] = this.orders as unknown as [[First, { separator: string }]]
    dates.first = first
    return (first === 'day' ? ['DD', 'MM', 'YYYY'] : ['MM', 'DD', 'YYYY']).join(separator)
  }

  /**
   * Selects the columns with values. Columns without a known target become custom fields, up to the limit of a project.
   * `proposal` has the target of each header. Null: not imported.
   */
  columnsToRead() {
    const fields = new Map<string, FieldItem>()
    const proposal = new Map<string, string | null>()
    const columns = this.columns.flatMap((column): ReadColumn[] => {
      const { header, isUnknown, types, decimals, endsWithZero } = column
      const isTooMany = isUnknown && fields.size >= maxFields && !fields.has(column.key)
      const target = isUnknown && !types ? null : isTooMany ? 'notes' : column.target
      if (!proposal.get(header)) proposal.set(header, target)
      if (target === null || !types) return []
      const isRepeated = this.columns.some((one) => one.header === header && one !== column)
      // As numbers, the versions 1.1 and 1.10 would be equal.
      const isText = isRepeated || (types[0] === 'number' && decimals.size > 1 && endsWithZero)
      const type = (!isText && types[0]) || 'text'
      const key = target === 'completed' ? column.key : target.slice(fieldPrefix.length)
      if (target.startsWith(fieldPrefix) || column.hasOtherAnswers)
        fields.set(key, { kind: 'field', row: 1, key, name: fieldName(header), type })
      return [{ ...column, target }]
    })
    return { columns, fields: [...fields.values()], proposal: [...proposal] }
  }
}
