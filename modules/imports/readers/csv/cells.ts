import { type CellComment, readComments, readPerson } from '../../../exports/cells.ts'
import type { DigestKeys } from '../../convert/keys.ts'
import { statusOf } from '../../convert/names.ts'
import type { CommentItem, ImportedItem, SubtaskItem, TaskItem } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import { type TaskTarget, useOf } from './columns.ts'
import type { Dates } from './dates.ts'
import type { Row } from './rows.ts'
import type { FieldType, ReadColumn } from './survey.ts'
import {
  answerOf,
  bracketedList,
  jsonComments,
  listOf,
  oneLine,
  type Priorities,
  priorityOf,
  short,
  subtasksOf,
  unreadDate,
} from './values.ts'

/** The task of a row that is being read. */
export interface Draft {
  task: TaskItem
  /** The list or section, if another column has the status. */
  section?: string
  isCompleted?: boolean
  comments: (CellComment & { messages?: string[] })[]
  subtasks: { title: string; completed: boolean }[]
  notes: string[]
  messages: string[]
}

/** Adds a text to the foot of the description. */
export function addNote(draft: Draft, header: string, text: string, message?: string): void {
  draft.notes.push(`${header}: ${text}`)
  if (message) draft.messages.push(message)
}

export interface CellOptions {
  dates: Dates
  /** The time zone of the row's dates. */
  zone?: string
  priorities?: Priorities
  /** The separator of labels. Default: commas, semicolons and line ends. */
  listSeparator?: RegExp
  /** Returns the text of a cell, such as a cell with `\n` in place of line ends. */
  decode?(text: string): string
}
interface Cell extends CellOptions {
  text: string
  column: ReadColumn
}
type CellReader = (draft: Draft, cell: Cell) => void

const one =
  (part: 'title' | 'parent' | 'key' | 'externalId'): CellReader =>
  ({ task }, { text }) => {
    task[part] ||= part === 'title' || part === 'externalId' ? text.trim() : oneLine(text)
  }

const date =
  (part: 'dueDate' | 'remindAt' | 'createdAt'): CellReader =>
  (draft, { text, column, dates, zone }) => {
    // Notion writes `October 8, 2026 → October 10, 2026`.
    const [end, ...starts] = text.split('→').reverse()
    const read = dates.read(end!.trim(), zone, part === 'dueDate')
    if (read) draft.task[part] = read
    if (!read) addNote(draft, column.header, text, unreadDate(text, end))
    else if (starts.length > 0) addNote(draft, column.header, text)
  }

const nobody = /^\s*(unassigned|not assigned|nobody|no one|none|n\/a|-)\s*$/i

/** Returns several people: `Ada` and `Bob` of `Ada, Bob` under `Owners`. `Lovelace, Ada` under `Owner` is one person. */
function peopleOf(text: string, header: string): string[] {
  const listed = listOf(text, /[;\n]/)
  const people = listed.length > 1 ? [] : listOf(text, /,/)
  const isList =
    /^assign$|(assignees|owners|people|persons|names|members)$/.test(header) ||
    people.every((one) => /\S(\s+\S|@)/.test(one))
  return isList && people.length > 1 ? people : listed
}

/** ClickUp writes `[Ada,Bob]`. */
const assignees: CellReader = (draft, cell) => {
  const { text, column, listSeparator } = cell
  if (!listSeparator && nobody.test(text)) return
  const people = listSeparator
    ? listOf(text, listSeparator)
    : (bracketedList(text) ?? peopleOf(text, column.plain))
  const [first = text, ...others] = people
  person('assignee')(draft, { ...cell, text: first })
  if (others.length > 0) draft.notes.push(`Also assigned: ${others.map(oneLine).join(', ')}`)
}

const person =
  (part: 'assignee' | 'author', isEmail = false): CellReader =>
  ({ task }, { text }) => {
    const known = task[part]
    const read = readPerson(oneLine(text)) ?? { name: '' }
    const email = isEmail ? text.trim() : (known?.email ?? read.email)
    const name = known && !isEmail ? read.name : (known?.name ?? read.name)
    task[part] = email ? { name, email } : { name }
  }

const list =
  (part: 'labels' | 'blockedBy', usual = /[,;\n]/): CellReader =>
  ({ task }, { text, listSeparator }) => {
    const inBrackets = listSeparator ? undefined : bracketedList(text)
    ;(task[part] ??= []).push(...(inBrackets ?? listOf(text, listSeparator ?? usual)))
  }

const readField: CellReader = ({ task }, { text, column }) => {
  const key = column.target.slice('field.'.length)
  const fields = (task.fields ??= {})
  if (Object.hasOwn(fields, key)) fields[key] = `${fields[key]}, ${text}`
  else fields[key] = valueOf(text, column.type)
}

function valueOf(text: string, type: FieldType): string | number | boolean {
  if (type === 'number') return Number(text)
  if (type === 'boolean') return text.trim().toLowerCase() === 'true'
  return type === 'date' ? text.trim() : text
}

/** A time in the column also means that the task is completed. Every other answer than yes or no is also a field. */
const completed: CellReader = (draft, { text: given, column, dates, zone }) => {
  const text = given.trim()
  const answer = answerOf(text, column.header)
  const isTime = answer === 'other' && (dates.read(text, zone) !== undefined || dates.isAmbiguous(text))
  if (answer === 'yes' || isTime) draft.isCompleted = true
  if (answer === 'other') (draft.task.fields ??= {})[column.key] = valueOf(text, column.type)
  if (answer === 'other' && !isTime)
    draft.messages.push(
      `${column.header}: ${short(text)} is not 100 %, a date, yes or no: the task is not completed`,
    )
}

/** The function that reads a cell into a draft, by the target of its column. */
const cellReaders: Record<TaskTarget, CellReader> = {
  title: one('title'),
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
    const priority = priorityOf(text.trim(), priorities)
    if (priority) draft.task.priority = priority
    else if (priority === null)
      addNote(draft, column.header, text, `The priority "${short(text)}" is unknown`)
  },
  dueDate: date('dueDate'),
  remindAt: date('remindAt'),
  assignee: assignees,
  assigneeEmail: person('assignee', true),
  author: person('author'),
  authorEmail: person('author', true),
  createdAt: date('createdAt'),
  completed,
  labels: list('labels'),
  parent: one('parent'),
  blockedBy: list('blockedBy', /[,;\s]/),
  comments: ({ comments, messages }, { text, dates, listSeparator }) =>
    comments.push(
      ...((listSeparator ? undefined : jsonComments(text, dates, messages)) ?? readComments(text)),
    ),
  // Microsoft Planner writes `one;two`.
  subtasks: ({ subtasks }, { text, column }) =>
    subtasks.push(...subtasksOf(column.plain === 'checklist items' ? text.replaceAll(';', '\n') : text)),
  notes: ({ notes }, { text, column }) => notes.push(`${column.header}: ${text}`),
  id: one('key'),
  externalId: one('externalId'),
}

/** Returns the draft of the task in a row. */
export function draftOf(row: Row, columns: ReadColumn[], options: CellOptions): Draft {
  const task: TaskItem = { kind: 'task', row: row.number, key: '', title: '' }
  const draft: Draft = { task, comments: [], subtasks: [], notes: [], messages: [] }
  const cell: Cell = { ...options, text: '', column: columns[0]! }
  const filled = new Map<string, string>()
  for (const column of columns) {
    const { target, header } = column
    const given = row.at(column.index)
    const text = options.decode && target !== 'title' ? options.decode(given) : given
    if (text.trim() === '' || isEmpty(text, column, options)) continue
    const first = useOf(target) === 'first' ? filled.get(target) : undefined
    if (first !== undefined) {
      if (first !== text) draft.notes.push(`${header}: ${text}`)
      continue
    }
    filled.set(target, text)
    const read = target.startsWith('field.') ? readField : cellReaders[target as TaskTarget]
    cell.text = text
    cell.column = column
    read(draft, cell)
  }
  return draft
}

/** Many systems write `null` and `[]` in empty cells. In our own files, they are names. */
const isEmpty = (text: string, { target }: ReadColumn, { listSeparator }: CellOptions) =>
  !listSeparator && mayBeEmpty.test(target) && /^\s*(null|\[\])\s*$/.test(text)
const mayBeEmpty =
  /^(status|list|priority|dueDate|remindAt|createdAt|completed|assignee|labels|parent|blockedBy|comments|subtasks)$/

/** Returns the task of a draft, then its subtasks and comments. */
export function itemsOf(draft: Draft, keys: DigestKeys, mapping: Mapping): ImportedItem[] {
  const { task } = draft
  finishStatus(draft, mapping)
  if (!task.title) task.problem = 'The row has no title'
  if (task.labels) task.labels = [...new Set(task.labels)]
  if (!task.key) Object.assign(task, { key: keys.next(oneLine(task.title)), hasNoId: true })
  if (draft.notes.length > 0) task.notes = draft.notes
  if (draft.messages.length > 0) task.messages = draft.messages
  const child = { row: task.row, task: task.key }
  const subtasks = draft.subtasks.map((subtask): SubtaskItem => ({ kind: 'subtask', ...child, ...subtask }))
  const comments = draft.comments.map((comment): CommentItem => ({ kind: 'comment', ...child, ...comment }))
  return [task, ...subtasks, ...comments]
}

/** A completed task becomes DONE, unless the mapping gives its list another status than the usual one. */
function finishStatus({ task, section, isCompleted }: Draft, mapping: Mapping): void {
  if (section && !task.list && !task.status) task.list = section
  else if (section) (task.labels ??= []).push(section)
  const { list } = task
  const isMapped = list !== undefined && statusOf(list, mapping) !== statusOf(list, {})
  if (isCompleted && !isMapped) task.status = 'DONE'
}
