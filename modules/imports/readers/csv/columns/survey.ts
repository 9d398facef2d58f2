import type { FieldItem } from '../../../items.ts'
import type { Column } from './columns.ts'
import type { Dates } from '../dates/dates.ts'
import { type First, firstOf } from '../dates/day.ts'
import type { Row } from '../row.ts'
import { answerOf } from '../values.ts'

export type FieldType = Exclude<FieldItem['type'], 'choice'>

const dateTargets = ['dueDate', 'remindAt', 'createdAt', 'completed']
const shapes: Record<Exclude<FieldType, 'text'>, (text: string) => boolean> = {
  number: (text) => /^-?(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(text),
  boolean: (text) => /^(true|false)$/i.test(text),
  date: (text) => /^[12]\d{3}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text),
}

/** Finds out from all rows which columns have values, their types, and the order of day and month. */
export class Survey {
  private readonly columns: Column[]
  private readonly types = new Map<Column, FieldType[]>()
  private readonly orders = new Set<First>()
  private readonly others = new Set<Column>()
  private separator = '/'

  constructor(columns: Column[]) {
    this.columns = columns.filter(({ target }) => target !== null)
  }

  look(row: Row): void {
    for (const column of this.columns) {
      const text = row.at(column.index).trim()
      if (text === '') continue
      const types = this.types.get(column) ?? ['number', 'boolean', 'date']
      if (types.length > 0 || !this.types.has(column))
        this.types.set(
          column,
          types.filter((type) => type !== 'text' && shapes[type](text)),
        )
      if (column.target === 'completed' && answerOf(text) === 'other') this.others.add(column)
      if (dateTargets.includes(column.target as string)) this.lookAtDate(text)
    }
  }

  private lookAtDate(text: string): void {
    const { first, separator } = firstOf(text)
    if (!first) return
    this.orders.add(first)
    this.separator = separator ?? this.separator
  }

  /** True if the values of a column are not all yes or no. */
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

  /** Sets the order of day and month, unless it is given. Returns the format, if the file shows it. */
  decideOrder(dates: Dates): string | undefined {
    if (dates.first || this.orders.size !== 1) return undefined
    const [first] = this.orders
    dates.first = first
    const parts = first === 'day' ? ['DD', 'MM', 'YYYY'] : ['MM', 'DD', 'YYYY']
    return parts.join(this.separator)
  }
}
