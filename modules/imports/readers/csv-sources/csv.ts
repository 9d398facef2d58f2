import { isId } from '../../../../src/id-format.ts'
import { model } from '../../../../src/model/model.ts'
import { csvColumns } from '../../../exports/cells.ts'
import type { CsvFormat } from '../csv/cells.ts'
import { childPrefix, declared, plain } from '../csv/columns.ts'
import { csvReader } from '../csv/csv-reader.ts'
import colors from '../boards/colors.json' with { type: 'json' }
import words from '../../words.json' with { type: 'json' }

/**
 * The format of CSV exports of Docket. The task number is not imported. `importedAuthor`, the first author, replaces
 * `author`.
 */
function own(headers: ReadonlySet<string>): CsvFormat {
  const others = model().ofTask.filter(({ plural }) => !csvColumns.includes(plural))
  const children = others.map(({ name, plural }) => [plain(plural), childPrefix + name])
  // A file of an earlier release does not have all columns.
  const later = [...declared.keys()].filter((name) => !csvColumns.includes(name) && headers.has(plain(name)))
  const empty = Object.fromEntries(later.map((name) => [name, null]))
  return {
    columns: { ...words.columns.docket, ...Object.fromEntries(children) },
    isOwn: true,
    finish({ task }, row) {
      const name = row.text('imported author')
      if (name !== '') task.author = { name }
      // A row with an id changes the task with this id.
      if (isId(task.key))
        Object.assign(task, { ...empty, externalId: `docket:${task.key}`, ...task, isExported: true })
    },
  }
}

/** ClickUp writes `null` in empty cells, line ends as `\n`, and URGENT, HIGH, NORMAL and LOW as numbers. */
const clickUp: CsvFormat = {
  priorities: { '1': 'HIGH', '2': 'HIGH', '3': 'MEDIUM', '4': 'LOW' },
  decode(text) {
    if (/^\s*(null|\[\]|\{\})\s*$/.test(text)) return ''
    return /^\s*\[\s*\{/.test(text) ? text : text.replaceAll('\\r\\n', '\n').replaceAll('\\n', '\n')
  },
}

/** The premium export of Trello writes `Brass (red)`, and ` (red)` for a label without a name. */
const trello: CsvFormat = {
  finish({ task }) {
    task.labels &&= task.labels.map((label) => {
      const [, name = '', color] = /^(.*)\((\w+)\)$/s.exec(label) ?? []
      return color && `, ${colors.trello}`.includes(`, ${color} `) ? name.trim() || color : label
    })
  },
}

/** In the results of a query for a tree, the columns `Title 1`, `Title 2` … show the level of a work item. */
function azureDevOps(headers: string[]): CsvFormat {
  const levels = headers.filter((header) => /^title \d+$/.test(header))
  const ancestors: string[] = []
  return {
    columns: { ...Object.fromEntries(levels.map((level) => [level, null])), [levels[0] ?? 'title']: 'title' },
    priorities: { '1': 'HIGH', '2': 'MEDIUM', '3': 'LOW', '4': 'LOW' },
    ...(levels.length > 0 && {
      finish({ task }, row) {
        const level = levels.findIndex((name) => row.text(name) !== '')
        if (level < 0) return
        task.title = row.text(levels[level]!)
        if (level > 0) task.parent ??= ancestors[level - 1]
        ancestors.splice(level, Infinity, task.key)
      },
    }),
  }
}

/** Reads any CSV file. Files with the columns of our own export need no mapping. */
export const readCsv = csvReader(({ dates }, headers) => {
  const known = new Set(headers)
  if (csvColumns.every((name) => known.has(plain(name)))) return own(known)
  if (known.has('card id') && known.has('list name')) return trello
  if (known.has('work item type')) return azureDevOps(headers)
  // Microsoft Planner writes the columns Task ID and Task Name too, and words such as `In progress` in `Progress`.
  if (known.has('bucket name')) return { columns: known.has('progress') ? { progress: 'status' } : {} }
  if (!known.has('task id') || !known.has('task name')) return {}
  // Comments have dates such as 3/14/2024.
  dates.first ??= 'month'
  return clickUp
})

export const readLinear = csvReader(() => ({
  columns: words.columns.linear,
  priorities: { '0': undefined, '1': 'HIGH', '2': 'HIGH', '3': 'MEDIUM', '4': 'LOW' },
}))
