import type { ImportedItem } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import type { KnownColumns } from './columns/columns.ts'
import type { Dates } from './dates/dates.ts'
import type { Draft } from './drafts.ts'
import type { Row } from './row.ts'
import type { Priorities } from './values.ts'

/** The format of a system's CSV files. */
export interface CsvSource {
  /** The plain headers of columns without a target that `read` uses. */
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

/** Reads the rows of one file: `scan` is called with each row, and then `finish` with each row. */
export interface SourceRows {
  /** The separator of labels. Default: commas, semicolons and line ends. */
  listSeparator?: RegExp
  scan?(row: Row): void
  /** Returns the part of the mapping that the rows show. */
  proposal?(): Mapping
  /** Completes the draft. Returns false if the row is not a task. */
  finish?(draft: Draft, row: Row): boolean | void
  /** Returns the items of a row that is not a task, such as a comment on an earlier task. */
  otherItems?(draft: Draft, row: Row): ImportedItem[]
  /** Returns lines for the report, after the last row. */
  end?(): string[]
}
