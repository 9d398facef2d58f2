import type { ImportedItem } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import type { KnownColumns } from './columns/columns.ts'
import type { Dates } from './dates/dates.ts'
import type { Draft } from './drafts.ts'
import type { Row } from './row.ts'
import type { Priorities } from './values.ts'

/** What the CSV files of one system have in particular. */
export interface CsvSource {
  /** The plain headers of the columns that `read` reads, although they have no target. */
  reads?: readonly string[]
  /** Absent: columns are found by their usual names. Other columns become fields. */
  columns?: KnownColumns
  /** For sources with several kinds of files. */
  columnsFor?(names: string[]): KnownColumns | undefined
  /** Returns the English name of a plain header. */
  translate?(name: string): string
  /** The plain header of the column with the time zone of the dates in its row. */
  zone?: string
  priorities?: Priorities
  read?(context: SourceContext): SourceRows
}

export interface SourceContext {
  mapping: Mapping
  dates: Dates
  /** The header. */
  names: string[]
}

/** One reading of a file: `scan` is called with each row, then `finish` with each row. */
export interface SourceRows {
  /** What separates labels. Default: commas, semicolons and line ends. */
  listSeparator?: RegExp
  scan?(row: Row): void
  /** What the rows show of the mapping. */
  proposal?(): Mapping
  /** Completes the draft. With false, the row is no task. */
  finish?(draft: Draft, row: Row): boolean | void
  /** Returns what a row that is no task adds to tasks before it. */
  others?(draft: Draft, row: Row): ImportedItem[]
  /** Returns lines for the report, after the last row. */
  end?(): string[]
}
