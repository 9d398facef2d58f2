import { isId } from '../../../../src/id-format.ts'
import { csvColumns } from '../../../exports/cells.ts'
import type { Draft } from '../csv/cells.ts'
import { type KnownColumns, plain, targetNamed } from '../csv/columns.ts'
import { csvReader, type SourceRows } from '../csv/csv-reader.ts'
import type { Dates } from '../csv/dates.ts'
import type { Row } from '../csv/rows.ts'
import { jiraName } from './jira-languages.ts'

/** The columns of our own export. The number is not imported. */
const own: KnownColumns = {
  ...Object.fromEntries(csvColumns.map((name) => [plain(name), targetNamed(name) ?? null])),
  [plain('importedAuthor')]: 'author',
}
const isOwn = (names: string[]) => csvColumns.every((name) => names.includes(name))

/** Reads any CSV file. Files with the columns of our own export need no mapping. */
export const readCsv = csvReader({
  // In English, `Principal` is no parent.
  translate: (name) => (name === 'principal' ? name : jiraName(name)),
  columnsFor: (names) => (isOwn(names) ? own : undefined),
  read: ({ names, dates }) =>
    isOwn(names) ? { listSeparator: /\n/, finish: finishOwn } : isClickUp(names) ? clickUp(dates) : {},
})

/** A row with an id changes the task with this id. `importedAuthor`, the first author, replaces `author`. */
function finishOwn({ task }: Draft, row: Row): void {
  const name = row.text(plain('importedAuthor'))
  if (name !== '') task.author = { name }
  if (!isId(task.key)) return
  task.isExported = true
  task.externalId ??= `docket:${task.key}`
}

/** Microsoft Planner writes the columns Task ID and Task Name too, and buckets. */
function isClickUp(names: string[]): boolean {
  const known = new Set(names.map(plain))
  return known.has('task id') && known.has('task name') && !known.has('bucket name')
}

/** ClickUp writes `null` in empty cells, line ends as `\n`, and URGENT, HIGH, NORMAL and LOW as numbers. */
function clickUp(dates: Dates): SourceRows {
  // Comments have dates such as 3/14/2024.
  dates.first ??= 'month'
  return {
    priorities: { '1': 'HIGH', '2': 'HIGH', '3': 'MEDIUM', '4': 'LOW' },
    decode: (text) => {
      if (/^\s*null\s*$/.test(text)) return ''
      return /^\s*\[\s*\{/.test(text) ? text : text.replaceAll('\\r\\n', '\n').replaceAll('\\n', '\n')
    },
  }
}
