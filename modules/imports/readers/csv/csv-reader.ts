import type { ChildOfTask } from '../../../../src/model/entities.ts'
import { definitionOf } from '../../../../src/model/model.ts'
import { fieldPrefix, nameInFile, readComments, readPerson } from '../../../exports/cells.ts'
import { DigestKeys } from '../../convert/keys.ts'
import { statusOf } from '../../convert/names.ts'
import type { ChildItem, ImportedItem, TaskItem } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import type { Reader } from '../file.ts'
import { parseObject } from '../json-file.ts'
import {
  answerOf,
  childPrefix,
  type Column,
  type ColumnFormat,
  columnsOf,
  declared,
  fieldsOf,
  hasUnknownHeader,
  targetsOf,
  useOf,
} from './columns.ts'
import { Dates, isDate, unreadDate } from './dates.ts'
import { findHeader, type Row } from './rows.ts'
import * as values from './values.ts'

/** The format of the CSV files of a system. `scan` is called with each row, and then `finish` with each row. */
export interface CsvFormat extends ColumnFormat {
  /** True for an export of Docket: labels are separated by line ends only, and `null` is a name. */
  isOwn?: boolean
  priorities?: values.Priorities
  /** True if a comment begins with its date and its author. In other files, both are text: they would change the comment's key. */
  hasDatedComments?: boolean
  /** True if a title means the nearest task above with this title. Otherwise it means the first task. */
  meansNearest?: boolean
  /** The plain header of another id by which rows refer to a task. Default: the title */
  nameOfTask?: string
  /** Decodes the text of a cell, which may have `\n` in place of a line end. */
  decode?(text: string): string
  /** Returns the id of a task, or a digest. Default: a digest of the title, if the column `id` is empty */
  keyOf?(row: Row, title: string, keys: DigestKeys): string
  scan?(row: Row): void
  /** Returns the part of the mapping that the rows show. */
  proposal?(): Mapping
  /** Completes the draft. May return other items in place of the task, such as a comment on an earlier task. */
  finish?(draft: Draft, row: Row): ImportedItem[] | void
}

interface CsvFile {
  format: CsvFormat
  mapping: Mapping
  dates: Dates
  /** Undefined in files that do not refer to tasks by names. */
  references?: values.References
  /** Adds a line about the whole file to the report. */
  report(message: string): void
}

export interface Draft {
  file: CsvFile
  /** The time zone of the row, or ''. */
  zone: string
  task: TaskItem & { labels: string[]; notes: string[]; messages: string[] }
  /** The list or section, if another column has the status. */
  section?: string
  isCompleted?: boolean
  /** The children of the task. A comment has a text. */
  parts: (Omit<ChildItem, 'row' | 'task'> & { text?: string })[]
}

export function addNote({ task }: Draft, header: string, text: string, message?: string): void {
  task.notes.push(`${header}: ${text}`)
  if (message) task.messages.push(message)
}

type CellReader = (draft: Draft, text: string, column: Column) => void

const date: CellReader = (draft, text, { target, header }) => {
  // Notion writes `October 8, 2026 → October 10, 2026`.
  const [end, ...starts] = text.split('→').reverse()
  const isDue = target !== 'createdAt' && target !== 'remindAt'
  const value = draft.file.dates.read(end!.trim(), draft.zone, isDue)
  if (value) Object.assign(draft.task, { [target]: value })
  if (!value) addNote(draft, header, text, unreadDate(text))
  else if (starts.length > 0) addNote(draft, header, text)
}

/** Reads a name, an email address, or both. A column with addresses only completes the name of the person. */
const person: CellReader = ({ task, file }, text, { target }) => {
  const part = target.replace('Email', '') as 'author'
  const line = values.oneLine(text)
  const given = file.format.isOwn ? line : line.replace(/ ?\(([^()\s@]+@[^()\s@]+)\)$/, ' <$1>')
  const { name = '', email } = readPerson(given) ?? {}
  const known = task[part]
  task[part] =
    part === target ? { name, email: known?.email ?? email } : { name, ...known, email: email ?? name }
}

const list: CellReader = ({ task, file }, text, { target }) => {
  const { format, references } = file
  const inBrackets = format.isOwn ? undefined : values.bracketedList(text)
  const isOfTasks = declared.get(target)?.reference?.to === 'task'
  // Exports write one value a line. Ids contain no separators, so a person may write them in one line.
  const ownSeparator = isOfTasks ? /[,;\s]/ : /\n/
  const found =
    isOfTasks && references
      ? (inBrackets ?? [text]).flatMap((one) => references.keysIn(one))
      : (inBrackets ?? values.listOf(text, format.isOwn ? ownSeparator : undefined))
  ;(task[target as 'labels'] ??= []).push(...found)
}

/** The conversion of items reads numbers, booleans and dates in the texts of custom fields. */
const field: CellReader = ({ task }, text, { key, target }) => {
  const name = target === 'completed' ? key : target.slice(fieldPrefix.length)
  const fields = (task.fields ??= {})
  fields[name] = Object.hasOwn(fields, name) ? `${fields[name]}, ${text}` : text
}

/** Reads the cells of a declared field that needs no reader of its own. The conversion of items reads other texts. */
const declaredField: CellReader = (draft, text, column) => {
  const { kind } = declared.get(column.target)!
  if (!kind) list(draft, text, column)
  else if (kind.is === 'instant') date(draft, text, column)
  else if (kind.is === 'user') person(draft, text, column)
  else Object.assign(draft.task, { [column.target]: text })
}

/** Reads children that only their declaration names: a line of JSON for each, as exports write, or only its text. */
const declaredChild: CellReader = ({ parts }, cell, { target }) => {
  const kind = target.slice(childPrefix.length) as ChildOfTask
  const { text, input } = definitionOf(kind).asChild!
  const [textName, names] = [nameInFile(text), Object.keys(input.properties).map(nameInFile)]
  for (const line of cell.split('\n').filter((one) => one.trim() !== '')) {
    const parsed = parseObject(line)
    const given = typeof parsed?.[textName] === 'string' ? parsed : { [textName]: line }
    const values = names.flatMap((name) => (Object.hasOwn(given, name) ? [[name, given[name]]] : []))
    const { author, createdAt } = given
    parts.push({
      ...Object.fromEntries(values),
      kind,
      createdAt: typeof createdAt === 'string' ? createdAt : undefined,
      author: typeof author === 'string' ? readPerson(author) : undefined,
    })
  }
}

/** The function that reads a cell into a draft, by the target of its column up to a dot. */
const cellReaders: Record<string, CellReader> = {
  field,
  child: declaredChild,
  title: ({ task }, text) => {
    task.title = text.trim()
  },
  description: ({ task }, text) => {
    task.description = task.description ? `${task.description}\n\n${text}` : text
  },
  status: ({ task }, text) => {
    const name = text.trim()
    if (name === 'TODO' || name === 'IN_PROGRESS' || name === 'DONE') task.status = name
    else task.list = name
  },
  list: (draft, text) => {
    draft.section = text.trim()
  },
  priority: (draft, text, { header }) => {
    const priority = values.priorityOf(text.trim(), draft.file.format.priorities)
    if (!priority) addNote(draft, header, text)
    else if (priority !== 'NONE') draft.task.priority = priority
  },
  assignee: (draft, text, column) => {
    const { isOwn } = draft.file.format
    const [first, ...others] = isOwn ? [text] : values.assigneesOf(text, column.plain)
    if (first !== undefined) person(draft, first, column)
    if (others.length > 0) addNote(draft, 'Also assigned', others.map(values.oneLine).join(', '))
  },
  assigneeEmail: person,
  author: person,
  authorEmail: person,
  createdAt: date,
  /** A time means that the task is completed. An answer other than yes or no also becomes a custom field. */
  completed: (draft, cell, column) => {
    const text = cell.trim()
    const answer = answerOf(text, column.header)
    const isTime = answer === 'other' && (isDate(text) || draft.file.dates.read(text) !== undefined)
    if (answer === 'other') field(draft, text, column)
    if (answer === 'yes' || isTime) draft.isCompleted = true
  },
  parent: ({ task, file }, text) => {
    const reference = values.oneLine(text)
    task.parent ||= file.references?.find(reference) ?? reference
  },
  comments: (draft, text) => {
    const { format, dates } = draft.file
    const foreign = format.isOwn ? undefined : values.foreignComments(text, format.hasDatedComments)
    const comments = foreign?.map(({ date, ...comment }) => {
      const createdAt = dates.read(date, draft.zone)
      const header = comment.author ? `Comment of ${comment.author.name}` : 'Comment'
      if (date && !createdAt) addNote(draft, header, date, unreadDate(date))
      return { ...comment, createdAt }
    })
    for (const comment of comments ?? readComments(text)) draft.parts.push({ kind: 'comment', ...comment })
  },
  subtasks: ({ parts }, text, { plain }) => {
    // Microsoft Planner writes `one;two`.
    const lines = plain === 'checklist items' ? text.replaceAll(';', '\n') : text
    for (const subtask of values.subtasksOf(lines)) parts.push({ kind: 'subtask', ...subtask })
  },
  notes: (draft, text, { header }) => addNote(draft, header, text),
  id: ({ task }, text) => {
    task.key = values.oneLine(text)
  },
}

function draftOf(row: Row, columns: Column[], file: CsvFile): Draft {
  const { decode, isOwn } = file.format
  const task = { kind: 'task' as const, row: row.number, key: '', title: '' }
  const lists = { labels: [], notes: [], messages: [] }
  const draft: Draft = { file, zone: row.text('timezone'), task: { ...task, ...lists }, parts: [] }
  const filled = new Map<string, string>()
  for (const column of columns) {
    const { target, header } = column
    const given = row.at(column.index)
    const text = decode && target !== 'title' ? decode(given) : given
    if (text.trim() === '' || (!isOwn && isEmpty(text, target))) continue
    const first = useOf(target) === 'first' ? filled.get(target) : undefined
    const [kind = ''] = target.split('.')
    if (first === undefined) (cellReaders[kind] ?? declaredField)(draft, text, column)
    else if (first !== text) addNote(draft, header, text)
    filled.set(target, first ?? text)
  }
  for (const text of row.extraTexts) addNote(draft, 'Without a header', text)
  if (row.hasLongCell) draft.task.messages.push('A cell was cut, because it has too many characters')
  return draft
}

const texts = ['title', 'description', 'author', 'authorEmail', 'assigneeEmail', 'notes', 'id', 'externalId']
/** Many systems write `null`, `[]` and `{}` in empty cells. In exports of Docket, these texts are names. */
const isEmpty = (text: string, target: string) =>
  /^\s*(null|\[\]|\{\})\s*$/.test(text) && !target.startsWith(fieldPrefix) && !texts.includes(target)

/** Returns the task of a draft, then its children. @param keyOf returns the key of a task without an id */
function itemsOf(draft: Draft, keyOf: (title: string) => string): ImportedItem[] {
  const { task, parts } = draft
  finishStatus(draft)
  if (!task.title) task.problem = 'The row has no title'
  task.labels = [...new Set(task.labels)]
  if (!task.key) Object.assign(task, { key: keyOf(values.oneLine(task.title)), hasNoId: true })
  const { row, key } = task
  return [task, ...parts.map((part) => ({ ...part, row, task: key }) as ChildItem)]
}

/** A completed task becomes DONE, unless the mapping gives its list another status than the usual one. */
function finishStatus({ task, section, isCompleted, file: { mapping } }: Draft): void {
  if (section && !task.list && !task.status) task.list = section
  else if (section) task.labels.push(section)
  const { list } = task
  const hasOwnStatus = list !== undefined && statusOf(list, mapping) !== statusOf(list, {})
  if (isCompleted && !hasOwnStatus) task.status = 'DONE'
}

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
    if (format.meansNearest || refersToTasks) file.references = new values.References()
    const name = columns.find(({ plain }) => plain === format.nameOfTask) ?? title
    const [scannedKeys, keys] = [new DigestKeys(), new DigestKeys()]
    for await (const _ of row.readAll()) {
      for (const column of columns) column.scan(decode(row.at(column.index)).trim(), dates)
      if (file.references && (name !== title || !id || row.number <= maxTitlesWithIds)) {
        const key =
          keyOf?.(row, values.oneLine(row.at(title.index)), scannedKeys) ?? (id ? row.at(id.index) : '')
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
