import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { ChildOfTask } from '../../../../src/model/entities.ts'
import { definitionOf } from '../../../../src/model/model.ts'
import { fieldPrefix, nameInFile, readChildren, readComments, readPerson } from '../../../exports/cells.ts'
import type { DigestKeys } from '../../convert/keys.ts'
import { statusOf } from '../../convert/names.ts'
import { parseObject } from '../../parse-object.ts'
import type { ChildItem, CommentItem, ImportedItem, SubtaskItem, TaskItem } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import { type Dates, isDate } from './dates.ts'
import { childPrefix, declared, useOf } from './headers.ts'
import type { Row } from './rows.ts'
import type { ReadColumn } from './columns.ts'
import { idsIn, type References } from './references.ts'
import * as values from './values.ts'

export type Comment = Omit<CommentItem, 'row' | 'task'>
type Part = Comment | Omit<SubtaskItem, 'row' | 'task'> | Omit<ChildItem, 'row' | 'task'>

export interface Draft {
  task: TaskItem & { notes: string[]; messages: string[] }
  /** The list or section, if another column has the status. */
  section?: string
  isCompleted?: boolean
  parts: Part[]
}

/** Adds a text to the foot of the description. */
export function addNote({ task }: Draft, header: string, text: string, message?: string): void {
  task.notes.push(`${header}: ${text}`)
  if (message) task.messages.push(message)
}

export interface CellOptions {
  dates: Dates
  zone?: string
  priorities?: values.Priorities
  /** True for an export of Docket: labels are separated by line ends only, and `null` is a name. */
  isOwn?: boolean
  /** Decodes the text of a cell, which may have `\n` in place of a line end. */
  decode?(text: string): string
  references?: References
}
interface Cell extends CellOptions {
  text: string
  column: ReadColumn
}
type CellReader = (draft: Draft, cell: Cell) => void

const times = ['createdAt', 'remindAt']
const date: CellReader = (draft, { text, column: { target, header }, dates, zone }) => {
  // Notion writes `October 8, 2026 → October 10, 2026`.
  const [end, ...starts] = text.split('→').reverse()
  const value = dates.read(end!.trim(), zone, !times.includes(target))
  if (value) Object.assign(draft.task, { [target]: value })
  if (!value) addNote(draft, header, text, values.unreadDate(text, end))
  else if (starts.length > 0) addNote(draft, header, text)
}

const person: CellReader = ({ task }, { text, isOwn, column: { target } }) => {
  const part = target as 'author'
  const line = values.oneLine(text)
  const given = isOwn ? line : line.replace(/ ?\(([^()\s@]+@[^()\s@]+)\)$/, ' <$1>')
  const { name = '', email } = readPerson(given) ?? {}
  task[part] = { name, email: task[part]?.email ?? email }
}
const email =
  (part: 'assignee' | 'author'): CellReader =>
  ({ task }, { text }) => {
    const { name, email: address = name } = readPerson(text)!
    task[part] = { name, ...task[part], email: address }
  }

const list: CellReader = ({ task }, { text, column: { target }, isOwn, references }) => {
  const inBrackets = isOwn ? undefined : values.bracketedList(text)
  const keysIn = (one: string) => references?.keysIn(one) ?? values.listOf(one).flatMap(idsIn)
  const isOfTasks = declared.get(target)?.reference?.to === 'task'
  const found = isOfTasks
    ? (inBrackets ?? [text]).flatMap(keysIn)
    : (inBrackets ?? values.listOf(text, isOwn ? /\n/ : undefined))
  ;(task[target as 'labels'] ??= []).push(...found)
}

/** The conversion of items reads numbers, booleans and dates in the texts of custom fields. */
const field: CellReader = ({ task }, { text, column: { key, target } }) => {
  const name = target === 'completed' ? key : target.slice(fieldPrefix.length)
  const fields = (task.fields ??= {})
  fields[name] = Object.hasOwn(fields, name) ? `${fields[name]}, ${text}` : text
}

/** Reads the cells of a declared field that needs no reader of its own. The conversion of items reads other texts. */
const declaredField: CellReader = (draft, cell) => {
  const { target } = cell.column
  const { kind } = declared.get(target)!
  if (!kind) list(draft, cell)
  else if (kind.is === 'instant') date(draft, cell)
  else if (kind.is === 'user') person(draft, cell)
  else Object.assign(draft.task, { [target]: cell.text })
}

/** Reads children that only their declaration names. */
const declaredChild: CellReader = ({ parts }, { text: cell, column: { target } }) => {
  const kind = target.slice(childPrefix.length) as ChildOfTask
  const { text, input } = definitionOf(kind).asChild!
  const schemas = new Map(
    Object.entries<TSchema>(input.properties).map(([name, one]) => [nameInFile(name), one]),
  )
  const names = [...schemas.keys(), 'author', 'createdAt']
  for (const { author = '', createdAt, ...texts } of readChildren(cell, text, names)) {
    const read = Object.entries(texts).map(([name, value]) => [name, valueIn(schemas.get(name)!, value)])
    const others = { kind, createdAt: createdAt || undefined, author: readPerson(author) }
    parts.push({ ...Object.fromEntries(read), ...others })
  }
}

/** Texts are written as they are, null as an empty text, other values as JSON. */
function valueIn(schema: TSchema, text: string): unknown {
  if (text === '' && Value.Check(schema, null)) return null
  return Value.Check(schema, text) ? text : (parseObject(`{"value":${text}}`)?.value ?? text)
}

/** The function that reads a cell into a draft, by the target of its column. */
const cellReaders: Record<string, CellReader> = {
  title: ({ task }, { text }) => {
    task.title = text.trim()
  },
  description: ({ task }, { text }) => {
    task.description = task.description ? `${task.description}\n\n${text}` : text
  },
  status: ({ task }, { text }) => {
    const name = text.trim()
    if (name === 'TODO' || name === 'IN_PROGRESS' || name === 'DONE') task.status = name
    else task.list = name
  },
  list: (draft, { text }) => {
    draft.section = text.trim()
  },
  priority: (draft, { text, column, priorities }) => {
    const priority = values.priorityOf(text.trim(), priorities)
    if (priority) draft.task.priority = priority
    else if (priority === null)
      addNote(draft, column.header, text, `The priority "${values.short(text)}" is unknown`)
  },
  assignee: (draft, cell) => {
    const { text, column, isOwn } = cell
    const [first, ...others] = isOwn ? [text] : values.assigneesOf(text, column.plain)
    if (first !== undefined) person(draft, { ...cell, text: first })
    if (others.length > 0) addNote(draft, 'Also assigned', others.map(values.oneLine).join(', '))
  },
  assigneeEmail: email('assignee'),
  author: person,
  authorEmail: email('author'),
  createdAt: date,
  /** A time means that the task is completed. An answer other than yes or no also becomes a custom field. */
  completed: (draft, cell) => {
    const { column, dates, zone } = cell
    const text = cell.text.trim()
    const answer = values.answerOf(text, column.header)
    const isTime = answer === 'other' && (isDate(text) || dates.read(text, zone) !== undefined)
    if (answer === 'yes' || isTime) draft.isCompleted = true
    if (answer === 'other') field(draft, { ...cell, text })
    if (answer === 'other' && !isTime)
      draft.task.messages.push(
        `${column.header}: ${values.short(text)} is not 100 %, a date, yes or no: the task is not completed`,
      )
  },
  parent: ({ task }, { text, references }) => {
    const reference = values.oneLine(text)
    task.parent ||= references?.find(reference) ?? reference
  },
  comments: ({ task, parts }, { text, dates, isOwn }) => {
    const comments = (!isOwn && values.jsonComments(text, dates, task.messages)) || readComments(text)
    parts.push(...comments.map((comment): Part => ({ kind: 'comment', ...comment })))
  },
  subtasks: ({ parts }, { text, column }) => {
    // Microsoft Planner writes `one;two`.
    const lines = column.plain === 'checklist items' ? text.replaceAll(';', '\n') : text
    parts.push(...values.subtasksOf(lines).map((subtask): Part => ({ kind: 'subtask', ...subtask })))
  },
  notes: (draft, { text, column }) => addNote(draft, column.header, text),
  id: ({ task }, { text }) => {
    task.key = values.oneLine(text)
  },
}

/** Returns the draft of the task in a row. */
export function draftOf(row: Row, columns: ReadColumn[], options: CellOptions): Draft {
  const task = { kind: 'task' as const, row: row.number, key: '', title: '', notes: [], messages: [] }
  const draft: Draft = { task, parts: [] }
  const cell: Cell = { ...options, text: '', column: columns[0]! }
  const filled = new Map<string, string>()
  for (const column of columns) {
    const { target, header } = column
    const given = row.at(column.index)
    const text = options.decode && target !== 'title' ? options.decode(given) : given
    if (text.trim() === '' || (!options.isOwn && isEmpty(text, target))) continue
    const first = useOf(target) === 'first' ? filled.get(target) : undefined
    if (first !== undefined) {
      if (first !== text) addNote(draft, header, text)
      continue
    }
    filled.set(target, text)
    Object.assign(cell, { text, column })
    if (target.startsWith(fieldPrefix)) field(draft, cell)
    else if (target.startsWith(childPrefix)) declaredChild(draft, cell)
    else (cellReaders[target] ?? declaredField)(draft, cell)
  }
  return draft
}

const texts = ['title', 'description', 'author', 'authorEmail', 'assigneeEmail', 'notes', 'id', 'externalId']
/** Many systems write `null`, `[]` and `{}` in empty cells. In exports of Docket, these texts are names. */
const isEmpty = (text: string, target: string) =>
  /^\s*(null|\[\]|\{\})\s*$/.test(text) && !target.startsWith(fieldPrefix) && !texts.includes(target)

/** Returns the task of a draft, then its children. */
export function itemsOf(draft: Draft, keys: DigestKeys, mapping: Mapping): ImportedItem[] {
  const { task, parts } = draft
  finishStatus(draft, mapping)
  if (!task.title) task.problem = 'The row has no title'
  if (task.labels) task.labels = [...new Set(task.labels)]
  if (!task.key) Object.assign(task, { key: keys.next(values.oneLine(task.title)), hasNoId: true })
  const { row, key } = task
  return [task, ...parts.map((part) => ({ ...part, row, task: key }) as ChildItem)]
}

/** A completed task becomes DONE, unless the mapping gives its list another status than the usual one. */
function finishStatus({ task, section, isCompleted }: Draft, mapping: Mapping): void {
  if (section && !task.list && !task.status) task.list = section
  else if (section) (task.labels ??= []).push(section)
  const { list } = task
  const isMapped = list !== undefined && statusOf(list, mapping) !== statusOf(list, {})
  if (isMapped) return
  // In systems that only have open and closed tasks, the list shows the progress.
  const isOnlyOpen = !task.status && /^open(ed)?$/i.test(list ?? '')
  if (isOnlyOpen && section && statusOf(section, mapping) === 'IN_PROGRESS') task.status = 'IN_PROGRESS'
  if (isCompleted) task.status = 'DONE'
}
