import { DigestKeys } from '../../convert/keys.ts'
import type { Reader } from '../reader.ts'
import { type Column, columnsOf, isTitle, missingColumns } from './columns/columns.ts'
import { plain } from './columns/header-names.ts'
import { Dates } from './dates/dates.ts'
import { draftOf } from './draft-of-row.ts'
import { findHeader } from './header.ts'
import { itemsOf } from './items-of.ts'
import { columnsToRead } from './columns/columns-to-read.ts'
import { readRows, unevenCells } from './rows.ts'
import type { CsvSource } from './source.ts'
import { Survey } from './columns/survey.ts'

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
    const survey = new Survey(columns)
    for await (const row of readRows(open, header, names)) {
      if (row.repeatsHeader) continue
      survey.scan(row)
      rows.scan?.(row)
    }
    const dateFormat = survey.decideOrder(dates)
    for (const message of [missingColumns(mapping, columns), survey.otherOrder(dates)])
      if (message) report(message)
    const toRead = columnsToRead(columns, survey, source.reads)
    propose({ columns: toRead.proposal, ...(dateFormat && { dateFormat }), ...rows.proposal?.() })
    declareFields(fieldsOf(columns))
    yield* toRead.fields
    const keys = new DigestKeys()
    const { priorities, zone } = source
    const { listSeparator } = rows
    for await (const row of readRows(open, header, names)) {
      const inRow = { dates, priorities, listSeparator, zone: zone && row.text(zone) }
      const draft = draftOf(row, toRead.columns, inRow)
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
