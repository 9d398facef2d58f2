import { DigestKeys } from '../../convert/keys.ts'
import type { ImportedItem } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import type { Reader } from '../reader.ts'
import { type CellOptions, type Draft, draftOf, itemsOf } from './cells.ts'
import { columnsOf, headerMessages, isTitle, Survey } from './columns.ts'
import { Dates } from './dates.ts'
import { type ColumnFormat, englishName } from './headers.ts'
import { findHeader, readRows, Row } from './rows.ts'
import { References } from './references.ts'

/** The format of a CSV file. `scan` is called with each row, and then `finish` with each row. */
export interface CsvFormat
  extends ColumnFormat, Partial<Pick<CellOptions, 'decode' | 'isOwn' | 'priorities'>> {
  /** The plain header of the column with the time zone of the dates in its row. */
  zone?: string
  /** True if a title means the nearest task above with this title. Otherwise it means the first task. */
  meansNearest?: boolean
  /** Returns the name by which other rows refer to the task, and the key of the task. Default: the title, and the id. */
  nameOf?(row: Row): [name: string, key: string]
  scan?(row: Row): void
  /** Returns the part of the mapping that the rows show. */
  proposal?(): Mapping
  /** Completes the draft. May return other items in place of the task, such as a comment on an earlier task. */
  finish?(draft: Draft, row: Row, references: References | undefined): ImportedItem[] | void
}

export interface FileContext {
  mapping: Mapping
  dates: Dates
  /** Adds a line about a row that is not a task to the report, up to a limit. */
  reportRow(message: string): void
}

const maxReported = 1_000
/** Bounds the memory for titles in a file with ids. */
const maxTitlesWithIds = 100_000

/**
 * Returns the reader of a system's CSV files. It reads a file twice: first the types of columns, then the tasks.
 * @param formatOf returns the format of a file with these plain headers. While the header is not known, there are none
 */
export const csvReader = (formatOf: (context: FileContext, headers: string[]) => CsvFormat): Reader =>
  async function* ({ open, mapping, propose, report }) {
    const dates = new Dates(mapping)
    let reported = 0
    const reportRow = (message: string) => {
      const isLast = ++reported === maxReported
      if (reported <= maxReported) report(isLast ? 'Further rows are not reported' : message)
    }
    const context = { mapping, dates, reportRow }
    const header = await findHeader(open, isTitle(mapping, formatOf(context, [])))
    const names = header.names.map(englishName)
    const format = formatOf(context, names)
    const columns = columnsOf(header.names, mapping, format)
    const row = new Row(names)
    const survey = new Survey(columns, format.decode)
    const [title, id, ...others] = ['title', 'id', 'parent', 'blockedBy'].map((target) =>
      columns.find((column) => column.target === target),
    )
    const titleAndId = (): [string, string] => [row.at(title!.index), id ? row.at(id.index) : '']
    const { nameOf = titleAndId, meansNearest, isOwn } = format
    const hasReferences = meansNearest || (others.some(Boolean) && !isOwn)
    const references = hasReferences ? new References(id !== undefined) : undefined
    for await (const _ of readRows(open, header, row)) {
      if (row.repeatsHeader) continue
      survey.scan(row)
      // A file with ids rarely refers to titles.
      if (format.nameOf || !id || row.number <= maxTitlesWithIds) references?.add(...nameOf(row))
      format.scan?.(row)
    }
    const dateFormat = survey.decideOrder(dates)
    for (const message of [...headerMessages(mapping, columns), ...survey.otherOrder(dates)]) report(message)
    const toRead = survey.columnsToRead()
    yield* toRead.fields
    const keys = new DigestKeys()
    for await (const _ of readRows(open, header, row)) {
      const zone = format.zone && row.text(format.zone)
      const draft = draftOf(row, toRead.columns, { ...format, dates, zone, references })
      const { task } = draft
      const { messages, notes } = row.uneven(columns.length)
      task.messages.push(...messages)
      task.notes.push(...notes)
      if (row.repeatsHeader) {
        yield { ...task, key: task.key || keys.next(header.names), problem: 'The row repeats the header' }
        continue
      }
      yield* format.finish?.(draft, row, references) ?? itemsOf(draft, keys, mapping)
      if (meansNearest) references?.add(...nameOf(row), true)
    }
    // Leaves out columns without a target that `finish` reads by name.
    const proposed = toRead.proposal.filter(([name, target]) => target ?? !row.used.has(englishName(name)))
    propose({
      columns: Object.fromEntries(proposed),
      ...(dateFormat && { dateFormat }),
      ...(dates.usedZone && { timeZone: dates.zone }),
      ...format.proposal?.(),
    })
  }
