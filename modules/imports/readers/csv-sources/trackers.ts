import { isId } from '../../../../src/id-format.ts'
import { model } from '../../../../src/model/model.ts'
import { csvColumns, readPerson } from '../../../exports/cells.ts'
import { KeyMap, maxLinks, shortKey } from '../../convert/keys.ts'
import { maxMappedCharacters, statusOf } from '../../convert/names.ts'
import { ImportError, type TaskItem } from '../../items.ts'
import { valueFor } from '../../mapping.ts'
import words from '../../words.json' with { type: 'json' }
import { readAsanaJson } from '../boards/products.ts'
import { addNote, type Comment, type CsvFormat, csvReader } from '../csv/csv-reader.ts'
import { childPrefix, plain } from '../csv/columns.ts'
import { type Open, type Reader, readText } from '../file.ts'

/**
 * The format of CSV exports of Docket. The task number is not imported. `importedAuthor`, the first author, replaces
 * `author`.
 */
function docket(): CsvFormat {
  const others = model().ofTask.filter(({ plural }) => !csvColumns.includes(plural))
  const children = others.map(({ name, plural }) => [plain(plural), childPrefix + name])
  return {
    columns: { ...words.columns.docket, ...Object.fromEntries(children) },
    isOwn: true,
    finish({ task }, row) {
      const name = row.text('imported author')
      if (name !== '') task.author = { name }
      // A row with an id changes the task with this id.
      if (isId(task.key)) Object.assign(task, { externalId: `docket:${task.key}`, ...task, isExported: true })
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

/** Reads any CSV file. Files with the columns of our own export need no mapping. */
export const readCsv = csvReader(({ dates }, headers) => {
  const known = new Set(headers)
  if (csvColumns.every((name) => known.has(plain(name)))) return docket()
  // Azure DevOps writes priorities as numbers.
  if (known.has('work item type'))
    return { priorities: { '1': 'HIGH', '2': 'MEDIUM', '3': 'LOW', '4': 'LOW' } }
  // Microsoft Planner writes the columns Task ID and Task Name too, and words such as `In progress` in `Progress`.
  if (known.has('bucket name')) return { columns: known.has('progress') ? { progress: 'status' } : {} }
  if (!known.has('task id') || !known.has('task name')) return {}
  // Comments have dates such as 3/14/2024.
  dates.order ??= 'mdy'
  return clickUp
})

export const readLinear = csvReader(() => ({
  columns: words.columns.linear,
  priorities: { '0': 'NONE', '1': 'HIGH', '2': 'HIGH', '3': 'MEDIUM', '4': 'LOW' },
}))

const maxStatuses = 1_000

const subtaskType = new RegExp(words.subtaskType, 'i')

/** Reads the CSV export of a search. A parent is given by its issue id. Either issue of a link may list the link. */
export const readJira = csvReader(({ mapping }) => {
  const blockers = new KeyMap<string[]>()
  let links = 0
  const statuses = new Map<string, NonNullable<TaskItem['status']>>()
  /** The names of people by the ids of their accounts. */
  const people = new KeyMap<string>()
  /** Replaces mentions of people such as `[~accountid:5b10ac8d]` by their names, if the file has the names. */
  const withNames = (text: string) =>
    text.replace(/\[~(?:accountid:)?([^\][\s]{1,200})\]/gi, (whole, id: string) => {
      const name = people.get(id)
      return name === undefined ? whole : `@${name}`
    })
  return {
    columns: words.columns.jira,
    ...{ hasDatedComments: true, nameOfTask: 'issue id' },
    scan(row) {
      const key = shortKey(row.text('issue key'))
      for (const blocked of row.texts('outward issue link blocks')) {
        if (++links > maxLinks)
          throw new ImportError(
            `The file has more than ${maxLinks.toLocaleString('en')} links between issues`,
          )
        const known = blockers.get(blocked)
        if (known) known.push(key)
        else blockers.set(blocked, [key])
      }
      // Columns of people, each with a column of ids. Watchers are repeated.
      for (const person of ['assignee', 'reporter', 'creator', 'watchers']) {
        const accounts = row.texts(`${person} id`)
        const names = accounts.length > 0 ? row.texts(person) : []
        for (const [n, account] of accounts.entries())
          if (names[n]) people.setIfSpace(account, names[n].slice(0, maxMappedCharacters))
      }
    },
    finish({ task, parts }, row) {
      const { list = '', parent: reference } = task
      const status = statusOf(row.text('status category'), {})
      if (status && valueFor(mapping.statuses, list) == null) task.status = status
      if (status && list && list.length <= maxMappedCharacters && statuses.size < maxStatuses)
        statuses.set(list, status)
      task.blockedBy = [...new Set([...(task.blockedBy ?? []), ...(blockers.get(task.key) ?? [])])]
      // Only sub-tasks become sub-items of their parent. For other issues, the parent is the field `epic`.
      const parent = reference && (row.text('parent key') || reference)
      const type = row.text('issue type')
      task.parent = type === '' || subtaskType.test(type.normalize()) ? parent : undefined
      if (parent && !task.parent) task.fields = { ...task.fields, epic: parent }
      if (task.description) task.description = withNames(task.description)
      for (const part of parts) {
        if (part.kind !== 'comment') continue
        const comment = part as Comment
        comment.text = withNames(comment.text)
        const name = comment.author && people.get(comment.author.name)
        if (name) comment.author = readPerson(name)
      }
    },
    proposal: () => ({ statuses: Object.fromEntries(statuses) }),
  }
})

/** Reads the CSV or JSON export of an Asana project. */
export const readAsana: Reader = async function* (input) {
  yield* (await isJson(input.open)) ? readAsanaJson(input) : readAsanaCsv(input)
}

/** A JSON text begins with a brace or a bracket, a CSV file with the name of a column. */
async function isJson(open: Open): Promise<boolean> {
  for await (const text of readText(open)) if (/\S/.test(text)) return /^\s*[{[]/.test(text)
  return false
}

/** The CSV file refers to other tasks by their names. */
const readAsanaCsv = csvReader((file) => ({
  ...{ columns: words.columns.asana, hasOwnColumns: true, meansNearest: true },
  finish(draft, row) {
    const { task } = draft
    if (/^(\(no section\)|untitled section)$/i.test(draft.section ?? '')) delete draft.section
    if (task.parent) task.parent = row.text('parent task id') || task.parent
    // The rows of blocked tasks in the file name this task.
    const blocked = file.references!.referencesIn(row.text('blocking dependencies'))
    const others = blocked.flatMap(({ key, text }) => (key === undefined ? text : []))
    if (others.length > 0) addNote(draft, 'Blocking', others.join(', '), 'Blocked tasks are not in the file')
  },
}))
