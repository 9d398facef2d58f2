import { fieldPrefix } from '../../../exports/cells.ts'
import type { FieldItem } from '../../items.ts'
import type { Column } from './columns.ts'
import { type Dates, type First, orderOf } from './dates.ts'
import { fieldName } from './headers.ts'
import type { Row } from './rows.ts'
import { answerOf } from './values.ts'

type FieldType = Exclude<FieldItem['type'], 'choice'>

const hasDates = ({ target }: Column) =>
  ['dueDate', 'remindAt', 'createdAt', 'completed'].includes(target ?? '')
const shapes = {
  number: (text: string) => /^-?(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(text) || isShortest(text),
  boolean: (text: string) => /^(true|false)$/i.test(text),
  date: (text: string) => /^[12]\d{3}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text),
}
type CheckedType = keyof typeof shapes

/** True for numbers such as 1e+21 and 0.1234567, as JSON and our exports have them. */
const isShortest = (text: string) => /^-?\d(\.\d+)?(e[+-]\d+)?$/.test(text) && String(Number(text)) === text

/** The values of a column: the types that all of them have, and the decimals of its numbers. */
interface Values {
  types: CheckedType[]
  decimals?: number
  differ?: boolean
  endWithZero?: boolean
  hasOtherAnswers?: boolean
}

/** Determines from all rows which columns have values, the types of fields, and the order of day and month. */
export class Survey {
  private readonly values = new Map<Column, Values>()
  /** The first date of each order, and whether its numbers show the order. */
  private readonly orders = new Map<First, { separator?: string; certain?: string }>()

  constructor(
    private readonly columns: Column[],
    private readonly decode = (text: string) => text,
  ) {}

  scan(row: Row): void {
    for (const column of this.columns) {
      const known = this.values.get(column)
      if (column.target === null || (known?.types.length === 0 && !hasDates(column))) continue
      const text = this.decode(row.at(column.index)).trim()
      if (text !== '') this.add(column, text, known)
    }
  }

  private add(column: Column, text: string, known?: Values): void {
    // The version 1.0 is no number. Our export writes each number and boolean in one form, so TRUE is a text.
    const isOwn = column.header.startsWith(fieldPrefix)
    const isVersion = /\bversions?\b/.test(column.plain) && !isOwn
    const values: Values = known ?? { types: isVersion ? [] : ['number', 'boolean', 'date'] }
    this.values.set(column, values)
    values.types = values.types.filter((type) => {
      if (!shapes[type](text)) return false
      if (isOwn) return text === (type === 'number' ? String(Number(text)) : text.toLowerCase())
      return type !== 'number' || isNumeric(values, text)
    })
    if (column.target === 'completed') values.hasOtherAnswers ||= answerOf(text, column.header) === 'other'
    if (!hasDates(column)) return
    const { usual, certain, separator } = orderOf(text)
    if (usual)
      this.orders.set(usual, { separator, certain: this.orders.get(usual)?.certain ?? (certain && text) })
  }

  /** Returns a message with a date that has another order of day and month than the given format. */
  otherOrder({ first, isUsual }: Dates): string | undefined {
    const date = first && isUsual && this.orders.get(first === 'day' ? 'month' : 'day')?.certain
    if (!date) return undefined
    return `The date "${date}" does not have the order of day and month in mapping.dateFormat. Such dates were read in the only possible order`
  }

  /** Sets the order of day and month, unless it is given. Returns the format, if the rows agree on the order. */
  decideOrder(dates: Dates): string | undefined {
    if (dates.first || this.orders.size !== 1) return undefined
    const [[first, { separator }]] = this.orders as unknown as [[First, { separator: string }]]
    dates.first = first
    return (first === 'day' ? ['DD', 'MM', 'YYYY'] : ['MM', 'DD', 'YYYY']).join(separator)
  }

  /**
   * Selects the columns with values. Columns without a known target become custom fields, up to the limit of a project.
   * @param reads the columns that the source reads itself: they have no target, but are imported
   */
  columnsToRead(reads: readonly string[] = []): ColumnsToRead {
    const fields = new Map<string, FieldItem>()
    const proposal = new Map<string, string | null>()
    const columns = this.columns.flatMap((column): ReadColumn[] => {
      const { header, isUnknown } = column
      const values = this.values.get(column)
      const isTooMany = isUnknown && fields.size >= maxFields && !fields.has(column.key)
      const target = !isUnknown ? column.target : !values ? null : isTooMany ? 'notes' : column.target
      if (!proposal.get(header) && (target !== null || !reads.includes(column.plain)))
        proposal.set(header, target)
      if (target === null || !values) return []
      const isRepeated = this.columns.some((one) => one.header === header && one !== column)
      const type = (!isRepeated && values.types[0]) || 'text'
      const key = target === 'completed' ? column.key : target.slice(fieldPrefix.length)
      if (target.startsWith(fieldPrefix) || values.hasOtherAnswers)
        fields.set(key, { kind: 'field', row: 1, key, name: fieldName(header), type })
      return [{ ...column, target, type }]
    })
    return { columns, fields: [...fields.values()], proposal: Object.fromEntries(proposal) }
  }
}

/** False for numbers such as the versions 1.1 and 1.10: as numbers, they would be equal. */
function isNumeric(values: Values, number: string): boolean {
  const decimals = /\.(\d+)/.exec(number)?.[1] ?? ''
  values.differ ||= decimals.length !== (values.decimals ??= decimals.length)
  values.endWithZero ||= decimals.endsWith('0')
  return !(values.differ && values.endWithZero)
}

/** A project has at most this many fields. Further columns go to the foot of the description. */
const maxFields = 50

export interface ReadColumn extends Column {
  target: string
  type: FieldType
}

interface ColumnsToRead {
  columns: ReadColumn[]
  fields: FieldItem[]
  /** The proposed target of each header. Null: not imported. */
  proposal: Record<string, string | null>
}
