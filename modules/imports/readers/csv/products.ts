import { isId } from '../../../../src/id-format.ts'
import { model } from '../../../../src/model/model.ts'
import { csvColumns, readPerson } from '../../../exports/cells.ts'
import { DigestKeys, KeyMap, linkCharacters, shortKey } from '../../convert/keys.ts'
import { maxMappedCharacters, statusOf } from '../../convert/names.ts'
import { cut } from '../../convert/texts.ts'
import type { CommentItem, TaskItem } from '../../items.ts'
import { valueFor } from '../../mapping.ts'
import words from '../../words.json' with { type: 'json' }
import { noSection, readAsanaJson } from '../boards/cards.ts'
import { type Open, type Reader, readText } from '../file.ts'
import { parseObject } from '../json-file.ts'
import { childPrefix, plain } from './columns.ts'
import { addNote, type CsvFormat, csvReader, type Draft } from './csv-reader.ts'
import type { Row } from './rows.ts'
import { oneLine, subtasksOf } from './values.ts'

/** The constant parts of the formats. */
const formats = words.formats as Record<keyof typeof words.formats, CsvFormat>

/**
 * The format of CSV exports of Docket. The task number is not imported. `importedAuthor`, the first author, replaces
 * `author`.
 */
function docket(): CsvFormat {
  const others = model().ofTask.filter(({ plural }) => !csvColumns.includes(plural))
  const children = others.map(({ name, plural }) => [plain(plural), childPrefix + name])
  return {
    ...formats.docket,
    columns: { ...formats.docket.columns, ...Object.fromEntries(children) },
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
  ...formats.clickup,
  decode(text) {
    if (/^\s*(null|\[\]|\{\})\s*$/.test(text)) return ''
    return /^\s*\[\s*\{/.test(text) ? text : text.replaceAll('\\r\\n', '\n').replaceAll('\\n', '\n')
  },
}

/** In the results of a query for a tree, the columns `Title 1`, `Title 2` … show the level of a work item. */
function azureDevOps(headers: string[]): CsvFormat {
  const levels = headers.filter((header) => /^title \d+$/.test(header))
  const ancestors: string[] = []
  return {
    ...formats.azure,
    columns: Object.fromEntries(levels.map((name, level) => [name, level === 0 ? 'title' : null])),
    finish({ task }, row) {
      const level = levels.findIndex((name) => row.text(name) !== '')
      if (level < 0) return
      task.title = row.text(levels[level]!)
      task.parent ??= ancestors[level - 1]
      ancestors.splice(level, Infinity, task.key)
    },
  }
}

/** Reads any CSV file. Files with the columns of our own export need no mapping. */
export const readCsv = csvReader(({ dates }, headers) => {
  const known = new Set(headers)
  if (csvColumns.every((name) => known.has(plain(name)))) return docket()
  if (known.has('work item type')) return azureDevOps(headers)
  // Microsoft Planner writes the columns Task ID and Task Name too, and words such as `In progress` in `Progress`.
  if (known.has('bucket name')) return known.has('progress') ? formats.planner : {}
  if (!known.has('task id') || !known.has('task name')) return {}
  // Comments have dates such as 3/14/2024.
  dates.order ??= 'mdy'
  return clickUp
})

export const readLinear = csvReader(() => formats.linear)

const maxStatuses = 1_000

const subtaskType = new RegExp(words.subtaskType, 'i')

/** Reads the CSV export of a search. A parent is given by its issue id. Either issue of a link may list the link. */
export const readJira = csvReader(({ mapping }) => {
  const blockers = new KeyMap<string[]>()
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
    ...formats.jira,
    scan(row) {
      const key = shortKey(row.text('issue key'))
      for (const blocked of row.texts('outward issue link blocks')) {
        const known = blockers.get(blocked) ?? []
        known.push(key)
        blockers.set(blocked, known, linkCharacters)
      }
      // Columns of people, each with a column of ids. Watchers are repeated.
      for (const person of ['assignee', 'reporter', 'creator', 'watchers']) {
        const accounts = row.texts(`${person} id`)
        const names = accounts.length > 0 ? row.texts(person) : []
        for (const [n, account] of accounts.entries())
          if (names[n] && people.get(account) === undefined)
            people.set(account, names[n].slice(0, maxMappedCharacters))
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
        if (part.text !== undefined) part.text = withNames(part.text)
        const name = part.author && people.get(part.author.name)
        if (name) part.author = readPerson(name)
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
  ...formats.asana,
  finish(draft, row) {
    const { task } = draft
    if (noSection.test(draft.section ?? '')) delete draft.section
    if (task.parent) task.parent = row.text('parent task id') || task.parent
    // The rows of blocked tasks in the file name this task.
    const blocked = file.references!.referencesIn(row.text('blocking dependencies'))
    const others = blocked.flatMap(({ key, text }) => (key === undefined ? text : []))
    if (others.length > 0) addNote(draft, 'Blocking', others.join(', '), 'Blocked tasks are not in the file')
  },
}))

const maxIndent = 10
const maxMessageCharacters = 500

/** Reads a project exported as a template, or a file of a backup. */
export const readTodoist = csvReader((file) => {
  const keys = new DigestKeys()
  let section: string | undefined
  /** The latest task of the section after its ancestors, outermost first. */
  let parents: { indent: number; title: string; key: string }[] = []
  let latest: string | undefined
  function finishTask(draft: Draft, row: Row): void {
    const { task } = draft
    const { title, labels } = withoutLabels(task.title)
    const written = row.text('indent')
    if (Number.isNaN(Number(written))) addNote(draft, 'INDENT', written)
    const indent = Math.min(Math.round(Number(written)) || 1, maxIndent)
    parents = parents.filter((one) => one.indent < indent)
    const key = keys.next([section ?? '', ...parents.map((one) => one.title)], oneLine(title))
    Object.assign(task, { title, key, hasNoId: true, parent: parents.at(-1)?.key })
    task.labels.push(...labels)
    parents.push({ indent, title, key })
    latest = key
    draft.section = section
    const duration = row.text('duration')
    if (duration)
      task.fields = { ...task.fields, duration: `${duration} ${row.text('duration unit')}`.trim() }
  }

  return {
    ...formats.todoist,
    finish(draft, row) {
      const { author, assignee, title, description, notes, messages } = draft.task
      // `Ada (48151623)` is the person Ada.
      for (const person of [author, assignee]) if (person) person.name = person.name.replace(/ \(\d+\)$/, '')
      const type = row.text('type').toLowerCase()
      if (type === 'task') return finishTask(draft, row)
      if (type === 'section') [section, parents] = [title, []]
      const isComment = type === 'note' && latest !== undefined
      // A comment above all tasks is about the whole project.
      const content = type === 'note' && !isComment ? row.text('content') : undefined
      const others = [content, description, ...notes, ...messages].filter(Boolean).join('; ')
      if (others) file.report(`Not imported from row ${row.number}: ${others}`.slice(0, maxMessageCharacters))
      return isComment ? [commentOf(draft, row, latest!)] : []
    },
  }
})

/** Todoist writes labels into the title: `Repot the basil @garden @weekend`. */
function withoutLabels(title: string): { title: string; labels: string[] } {
  const labels = [...title.matchAll(/(?<=^|\s)@(\S+)/g)].map(([, label]) => label!)
  const rest = title.replace(/(^|(?<!\s)\s+)@\S+/g, '').trim()
  return rest === '' ? { title, labels: [] } : { title: rest, labels }
}

function commentOf({ task: { author, dueDate } }: Draft, row: Row, task: string): CommentItem {
  const { text, name } = withoutFile(row.text('content'))
  const message = `The file "${cut(name ?? '', 100)}" was not imported, only its name and address`
  const messages = name === undefined ? undefined : [message]
  return { kind: 'comment', row: row.number, task, text, author, createdAt: dueDate, messages }
}

/** A comment with a file ends with `[[file {"file_name":"plan.pdf","file_url":"https://…"}]]`. */
function withoutFile(content: string): { text: string; name?: string } {
  const [start, end] = [content.indexOf('[[file {'), content.lastIndexOf('}]]')]
  const given = start < 0 ? undefined : parseObject(content.slice(start + '[[file '.length, end + 1))
  if (!given) return { text: content }
  const [name, url] = [given.file_name, given.file_url].map((one) => (typeof one === 'string' ? one : ''))
  const line = `Attachment: ${name}${name && url ? ` (${url})` : url}`
  const texts = [content.slice(0, start), content.slice(end + 3), line].map((one) => one.trim())
  return { text: texts.filter((one) => one !== '').join('\n'), name: name || url || 'without a name' }
}

/** Reads the backup of TickTick. Above its header are lines about the file. */
export const readTickTick = csvReader(() => {
  // Some backups number their tasks 1, 2, 3 …. The next backup may number them differently, so a number is no key.
  const idOf = (row: Row) => row.text('task id').replace(/^\d{1,9}$/, '')
  return {
    ...formats.ticktick,
    keyOf: (row, title, keys) => idOf(row) || keys.next(row.text('created time'), title),
    finish(draft, row) {
      const { task, parts } = draft
      task.key = idOf(row)
      const status = row.text('status')
      if (status !== '') draft.isCompleted = status !== '0'
      if (row.text('kind') === 'NOTE') task.labels.push('Note')
      if (status === '-1') task.labels.push('Abandoned')
      if (row.text('is check list') !== 'Y' || task.description === undefined) return
      // The items of a checklist begin with ▫, or with ▪ if they are complete.
      const [text = '', ...items] = task.description.split(/(?=[▫▪])/u)
      for (const subtask of items.flatMap(subtasksOf)) parts.push({ kind: 'subtask', ...subtask })
      task.description = text.trim() || undefined
    },
  }
})
