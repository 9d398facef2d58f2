import { fieldPrefix } from '../../../exports/cells.ts'
import type { FieldItem } from '../../items.ts'
import { type Column, fieldName, type Target } from './columns.ts'
import type { Dates } from './dates.ts'
import { type First, orderOf } from './date-texts.ts'
import type { Row } from './rows.ts'
import { answerOf } from './values.ts'

export type FieldType = Exclude<FieldItem['type'], 'choice'>

const dateTargets: unknown[] = ['dueDate', 'remindAt', 'createdAt', 'completed']
const isDate = ({ target }: Column) => dateTargets.includes(target)
type CheckedType = Exclude<FieldType, 'text'>
const shapes: Record<CheckedType, (text: string) => boolean> = {
  number: (text) => /^-?(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(text) || isShortest(text),
  boolean: (text) => /^(true|false)$/i.test(text),
  date: (text) => /^[12]\d{3}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text),
}

/** True for numbers such as 1e+21 and 0.1234567, as JSON and our exports have them. */
const isShortest = (text: string) => /^-?\d(\.\d+)?(e[+-]\d+)?$/.test(text) && String(Number(text)) === text

const isOwn = ({ header }: Column) => header.startsWith(fieldPrefix)

/** Our export writes each number and boolean in one form, so 1.50 and TRUE in its columns are texts. */
const isExact = (column: Column, type: FieldType, text: string) =>
  !isOwn(column) || text === (type === 'number' ? String(Number(text)) : text.toLowerCase())

/** The version 1.0 is no number. */
const typesFor = (column: Column): CheckedType[] =>
  /\bversions?\b/.test(column.plain) && !isOwn(column) ? [] : ['number', 'boolean', 'date']

/** Determines from all rows which columns have values, their types, and the order of day and month. */
export class Survey {
  /** The columns that `scan` still checks: a column of texts needs no further check. */
  private open: Column[]
  private readonly types = new Map<Column, CheckedType[]>()
  private readonly decimals = new Map<Column, Decimals>()
  private readonly orders = new Set<First>()
  /** A date whose numbers show the order, for each order. */
  private readonly certain = new Map<First, string>()
  private readonly others = new Set<Column>()
  private separator = '/'

  constructor(
    columns: Column[],
    private readonly decode = (text: string) => text,
  ) {
    this.open = columns.filter(({ target }) => target !== null)
  }

  scan(row: Row): void {
    let isDecided = false
    for (const column of this.open) {
      const text = this.decode(row.at(column.index)).trim()
      if (text === '') continue
      const before = this.types.get(column) ?? typesFor(column)
      const types = before.filter(
        (type) => shapes[type](text) && isExact(column, type, text) && !this.isText(column, type, text),
      )
      this.types.set(column, types)
      if (column.target === 'completed' && answerOf(text, column.header) === 'other') this.others.add(column)
      if (isDate(column)) this.scanDate(text)
      else isDecided ||= types.length === 0
    }
    if (isDecided)
      this.open = this.open.filter((column) => isDate(column) || this.types.get(column)?.length !== 0)
  }

  /** True if a number of the column would lose a zero at its end. */
  private isText(column: Column, type: FieldType, text: string): boolean {
    if (type !== 'number' || isOwn(column)) return false
    const decimals = this.decimals.get(column) ?? new Decimals()
    this.decimals.set(column, decimals)
    return decimals.add(text)
  }

  private scanDate(text: string): void {
    const { certain, usual, separator } = orderOf(text)
    if (!usual) return
    this.orders.add(usual)
    this.separator = separator ?? this.separator
    if (certain && !this.certain.has(certain)) this.certain.set(certain, text)
  }

  /** True if a column has a value that is neither yes nor no. */
  hasOtherAnswers(column: Column): boolean {
    return this.others.has(column)
  }

  hasValues(column: Column): boolean {
    return this.types.has(column)
  }

  /** A field gets another type than text only if all values have it. */
  typeOf(column: Column): FieldType {
    return this.types.get(column)?.[0] ?? 'text'
  }

  /** Returns a message with a date that has another order of day and month than the given format. */
  otherOrder({ first, isUsual }: Dates): string | undefined {
    const date = first && isUsual && this.certain.get(first === 'day' ? 'month' : 'day')
    if (!date) return undefined
    return `The date "${date}" does not have the order of day and month in mapping.dateFormat. Such dates were read in the only possible order`
  }

  /** Sets the order of day and month, unless it is given. Returns the format, if the rows agree on the order. */
  decideOrder(dates: Dates): string | undefined {
    if (dates.first || this.orders.size !== 1) return undefined
    const [first] = this.orders
    dates.first = first
    const parts = first === 'day' ? ['DD', 'MM', 'YYYY'] : ['MM', 'DD', 'YYYY']
    return parts.join(this.separator)
  }
}

/** Finds columns of texts such as the versions 1.1 and 1.10: as numbers, they would be equal. */
class Decimals {
  private count: number | undefined
  private differ = false
  private endWithZero = false

  /** @param number a value of the column. @returns true if the values so far may be texts that only look like numbers */
  add(number: string): boolean {
    const decimals = /\.(\d+)/.exec(number)?.[1] ?? ''
    this.differ ||= this.count !== undefined && this.count !== decimals.length
    this.endWithZero ||= decimals.endsWith('0')
    this.count = decimals.length
    return this.differ && this.endWithZero
  }
}

/** A project has at most this many fields. Further columns go to the foot of the description. */
const maxFields = 50

export interface ReadColumn extends Column {
  target: Target
  type: FieldType
}

export interface ColumnsToRead {
  columns: ReadColumn[]
  fields: FieldItem[]
  /** The proposed target of each header. Null: not imported. */
  proposal: Record<string, string | null>
}

/**
 * Selects the columns with values. Columns without a known target become custom fields, up to the limit of a project.
 * @param reads the columns that the source reads itself: they have no target, but are imported
 */
export function columnsToRead(
  columns: Column[],
  survey: Survey,
  reads: readonly string[] = [],
): ColumnsToRead {
  const fields = new Map<string, FieldItem>()
  const proposal = new Map<string, string | null>()
  const toRead = columns.flatMap((column): ReadColumn[] => {
    const target = survey.hasValues(column) ? targetWithinLimit(column, fields) : emptyTarget(column)
    const isReadElsewhere = target === null && reads.includes(column.plain)
    if (!isReadElsewhere && !proposal.get(column.header)) proposal.set(column.header, target)
    if (target === null || !survey.hasValues(column)) return []
    const type = isRepeated(column, columns) ? 'text' : survey.typeOf(column)
    const key = target === 'completed' ? column.key : target.slice('field.'.length)
    if (target.startsWith('field.') || (target === 'completed' && survey.hasOtherAnswers(column)))
      fields.set(key, { kind: 'field', row: 1, key, name: fieldName(column.header), type })
    return [{ ...column, target, type }]
  })
  return { columns: toRead, fields: [...fields.values()], proposal: Object.fromEntries(proposal) }
}

const emptyTarget = ({ isUnknown, target }: Column) => (isUnknown ? null : target)

function targetWithinLimit({ isUnknown, target, key }: Column, fields: Map<string, FieldItem>) {
  return isUnknown && fields.size >= maxFields && !fields.has(key) ? 'notes' : target
}

const isRepeated = ({ header, index }: Column, columns: Column[]) =>
  columns.some((other) => other.header === header && other.index !== index)
