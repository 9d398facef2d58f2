import { DigestKeys } from '../../convert/keys.ts'
import type { Reader } from '../reader.ts'
import { type CsvFile, type CsvFormat, draftOf, itemsOf } from './cells.ts'
import { columnsOf, fieldsOf, hasUnknownHeader, targetsOf, usualIds } from './columns.ts'
import { Dates } from './dates.ts'
import { findHeader } from './rows.ts'
import { oneLine, References } from './values.ts'

/** Bounds the memory for titles in a file with ids, which rarely refers to titles. */
const maxTitlesWithIds = 100_000

/**
 * Returns the reader of a system's CSV files. It reads a file twice: first the types of columns, then the tasks.
 * @param formatOf returns the format of a file with these plain headers. The first call gets none: the header is unknown
 */
export const csvReader = (formatOf: (file: CsvFile, headers: string[]) => CsvFormat): Reader =>
  async function* ({ open, mapping, propose, report }) {
    const dates = new Dates(mapping)
    const file: CsvFile = { format: {}, mapping, dates, report }
    const known = formatOf(file, [])
    const row = await findHeader(open, (names) => targetsOf(names, mapping, known).includes('title'))
    const format = (file.format = formatOf(file, row.plainNames))
    const columns = columnsOf(row.names, mapping, format)
    const columnOf = (name: string) => columns.find(({ target }) => target === name)
    const [title, id] = [columnOf('title')!, columnOf('id')]
    const { decode = (text: string) => text, keyOf } = format
    const refersToTasks = !format.isOwn && (columnOf('parent') ?? columnOf('blockedBy'))
    if (format.meansNearest || refersToTasks) file.references = new References(id !== undefined)
    // Rows refer to a task by an id that is not imported, such as `Issue id` of Jira, or by its title.
    const isOtherId = (plain: string) => format.columns?.[plain] === null && usualIds.includes(plain)
    const name = columns.find(({ plain }) => isOtherId(plain)) ?? title
    const [scannedKeys, keys] = [new DigestKeys(), new DigestKeys()]
    for await (const _ of row.readAll()) {
      for (const column of columns) column.scan(decode(row.at(column.index)).trim(), dates)
      if (file.references && (name !== title || !id || row.number <= maxTitlesWithIds)) {
        const key = keyOf?.(row, oneLine(row.at(title.index)), scannedKeys) ?? (id ? row.at(id.index) : '')
        file.references.add(row.text(name.plain), key)
      }
      format.scan?.(row)
    }
    const dateFormat = dates.decideOrder()
    if (hasUnknownHeader(columns))
      report(
        'Only the columns of titles and ids were recognized. If others are a status, people or dates, send mapping.columns',
      )
    yield* fieldsOf(columns)
    const read = columns.filter(({ target, types }) => target !== '' && types.size > 0)
    for await (const _ of row.readAll()) {
      const draft = draftOf(row, read, file)
      const keyOfTitle = (title: string) => keyOf?.(row, title, keys) ?? keys.next(title)
      yield* format.finish?.(draft, row) ?? itemsOf(draft, keyOfTitle)
      if (format.meansNearest) file.references?.add(row.text(name.plain), draft.task.key, true)
    }
    const targets = new Map<string, string | null>()
    // Leaves out columns without a target that `finish` reads by name.
    for (const { header, plain, target } of columns)
      if (target !== '' || !row.used.has(plain)) targets.set(header, targets.get(header) ?? (target || null))
    propose({
      columns: Object.fromEntries(targets),
      ...(dateFormat && { dateFormat }),
      ...(dates.usedZone && { timeZone: dates.zone }),
      ...format.proposal?.(),
    })
  }
