import { isId } from '../../../../src/id-format.ts'
import { csvColumns } from '../../../exports/cells.ts'
import type { KnownColumns } from '../csv/columns/columns.ts'
import { csvReader } from '../csv/csv-reader.ts'
import type { Draft } from '../csv/drafts.ts'
import { plain } from '../csv/columns/header-names.ts'
import type { Row } from '../csv/row.ts'
import { targetNamed } from '../csv/columns/targets.ts'

/** The columns of our own export. The number is not imported. */
const own: KnownColumns = {
  ...Object.fromEntries(csvColumns.map((name) => [plain(name), targetNamed(name) ?? null])),
  [plain('importedAuthor')]: 'author',
}
const isOwn = (names: string[]) => csvColumns.every((name) => names.includes(name))

/** Reads any CSV file. Files with the columns of our own export need no mapping. */
export const readCsv = csvReader({
  columnsFor: (names) => (isOwn(names) ? own : undefined),
  read: ({ names }) => (isOwn(names) ? { listSeparator: /\n/, finish: finishOwn } : {}),
})

/** A row with an id changes the task with this id. `importedAuthor`, the first author, replaces `author`. */
function finishOwn({ task }: Draft, row: Row): void {
  const name = row.text(plain('importedAuthor'))
  if (name !== '') task.author = { name }
  if (!isId(task.key)) return
  task.isExported = true
  task.externalId ??= `docket:${task.key}`
}
