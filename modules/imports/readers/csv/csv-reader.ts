import { DigestKeys } from '../../convert/keys.ts'
import type { ImportedItem } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import type { Reader } from '../reader.ts'
import { type CellOptions, type Draft, draftOf, itemsOf } from './cells.ts'
import { type Column, columnsOf, headerMessages, isTitle, type KnownColumns, plain } from './columns.ts'
import { Dates } from './dates.ts'
import { findHeader, readRows, type Row, unevenCells } from './rows.ts'
import { columnsToRead, Survey } from './survey.ts'
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
export interface SourceRows extends Partial<Pick<CellOptions, 'listSeparator' | 'priorities' | 'decode'>> {
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

/** Returns the reader of a system's CSV files. It reads a file twice: first the types of columns, then the tasks. */
export const csvReader = (source: CsvSource): Reader =>
  async function* ({ open, mapping, propose, declareFields, report }) {
    const dates = new Dates(mapping)
    const nameOf = (header: string) => source.translate?.(plain(header)) ?? plain(header)
    const header = await findHeader(open, isTitle(source.columns, mapping, nameOf))
    const names = header.names.map(nameOf)
    const known = source.columns ?? source.columnsFor?.(header.names)
    const columns = columnsOf(header.names, mapping, nameOf, known)
    const rows = source.read?.({ mapping, dates, names: header.names }) ?? {}
    const survey = new Survey(columns, rows.decode)
    for await (const row of readRows(open, header, names)) {
      if (row.repeatsHeader) continue
      survey.scan(row)
      rows.scan?.(row)
    }
    const dateFormat = survey.decideOrder(dates)
    for (const message of [...headerMessages(mapping, columns), survey.otherOrder(dates)])
      if (message) report(message)
    const toRead = columnsToRead(columns, survey, source.reads)
    propose({ columns: toRead.proposal, ...(dateFormat && { dateFormat }), ...rows.proposal?.() })
    declareFields(fieldsOf(columns))
    yield* toRead.fields
    const keys = new DigestKeys()
    const { listSeparator, decode, priorities = source.priorities } = rows
    for await (const row of readRows(open, header, names)) {
      const zone = source.zone && row.text(source.zone)
      const draft = draftOf(row, toRead.columns, { dates, priorities, listSeparator, decode, zone })
      const { messages, notes } = unevenCells(row, columns.length)
      draft.messages.push(...messages)
      draft.notes.push(...notes)
      if (row.repeatsHeader) {
        const key = draft.task.key || keys.next(header.names)
        yield { ...draft.task, key, problem: 'The row repeats the header' }
      } else if (rows.finish?.(draft, row) === false) yield* rows.otherItems?.(draft, row) ?? []
      else yield* itemsOf(draft, keys, mapping)
    }
    for (const message of rows.end?.() ?? []) report(message)
    if (dates.usedZone) propose({ timeZone: dates.zone })
  }

/** The column `completed` also has a field, for its times. */
const fieldsOf = (columns: Column[]): string[] => [
  ...new Set(
    columns.flatMap(({ target, key }) =>
      target === 'completed' ? [target, `field.${key}`] : (target ?? []),
    ),
  ),
]
