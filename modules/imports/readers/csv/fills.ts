import { readComments } from '../../../exports/cells.ts'
import type { TaskItem } from '../../items.ts'
import type { FieldType } from './columns/survey.ts'
import { type TaskTarget, useOf } from './columns/targets.ts'
import type { PlannedColumn } from './columns/plan.ts'
import type { Dates } from './dates/dates.ts'
import { type Draft, keep } from './drafts.ts'
import { personOf } from './people.ts'
import type { Row } from './row.ts'
import { answerOf, listOf, oneLine, type Priorities, priorityOf, subtasksOf } from './values.ts'

export interface CellReading {
  dates: Dates
  /** The time zone of the row's dates. */
  zone?: string
  priorities?: Priorities
  listSeparator?: RegExp
}
interface Cell extends CellReading {
  text: string
  column: PlannedColumn
}
type Fill = (draft: Draft, cell: Cell) => void

/** Puts the cells of a row into a draft. */
export function draftOf(row: Row, columns: PlannedColumn[], reading: CellReading): Draft {
  const task: TaskItem = { kind: 'task', row: row.number, title: '' }
  const draft: Draft = { task, comments: [], subtasks: [], notes: [], messages: [] }
  const cell: Cell = { ...reading, text: '', column: columns[0]! }
  const filled = new Map<string, string>()
  for (const column of columns) {
    const { target, header } = column
    const text = row.at(column.index)
    if (text.trim() === '' || isNothing(text, column, reading)) continue
    const first = useOf(target) === 'first' ? filled.get(target) : undefined
    if (first !== undefined) {
      if (first !== text) draft.notes.push(`${header}: ${text}`)
      continue
    }
    filled.set(target, text)
    const fill = target.startsWith('field.') ? field : fills[target as TaskTarget]
    cell.text = text
    cell.column = column
    fill(draft, cell)
  }
  return draft
}

/** In a file of ClickUp, `null` and `[]` are empty cells. In our own files, they are names. */
const isNothing = (text: string, { target }: PlannedColumn, { listSeparator }: CellReading) =>
  !listSeparator && mayBeNothing.test(target) && /^\s*(null|\[\])\s*$/.test(text)
const mayBeNothing =
  /^(status|list|priority|dueDate|remindAt|createdAt|completed|assignee|labels|parent|blockedBy|comments|subtasks)$/

const short = (text: string) => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

const one =
  (part: 'title' | 'parent' | 'key' | 'externalId'): Fill =>
  ({ task }, { text }) => {
    task[part] ||= part === 'title' ? text.trim() : oneLine(text)
  }

const date =
  (part: 'dueDate' | 'remindAt' | 'createdAt'): Fill =>
  (draft, { text, column, dates, zone }) => {
    // Notion writes `October 8, 2026 → October 10, 2026`.
    const [end, ...starts] = text.split('→').reverse()
    const read = dates.read(end!.trim(), zone)
    if (read) draft.task[part] = read
    if (!read)
      keep(draft, column.header, text, `The date "${short(text)}" cannot be read: ${adviceFor(end!)}`)
    else if (starts.length > 0) keep(draft, column.header, text)
  }
function adviceFor(date: string): string {
  if (/^\s*\d{5}([.,]\d+)?\s*$/.test(date)) return forSerials
  return /^\s*(\p{L}{3,10}\.? \d{1,2}|\d{1,2}\.? \p{L}{3,10})\s*$/u.test(date) ? 'it has no year' : forDates
}
const forDates = 'send mapping.dateFormat, such as DD/MM/YYYY'
/** Spreadsheets store a date as the number of its day. */
const forSerials = 'format the column of the spreadsheet as dates'

const bracketed = /^\s*\[(.*)\]\s*$/s

/** ClickUp writes `[Ada,Bob]`, others `Ada;Bob`. */
const assignees: Fill = (draft, cell) => {
  const { text, listSeparator } = cell
  const inside = listSeparator ? undefined : bracketed.exec(text)?.[1]
  const [first = text, ...others] = listOf(inside ?? text, listSeparator ?? (inside ? /[,;\n]/ : /[;\n]/))
  person('assignee')(draft, { ...cell, text: first })
  if (others.length > 0) draft.notes.push(`Also assigned: ${others.map(oneLine).join(', ')}`)
}

const person =
  (part: 'assignee' | 'author', isEmail = false): Fill =>
  ({ task }, { text }) => {
    const known = task[part]
    const read = personOf(oneLine(text))
    const email = isEmail ? text.trim() : (known?.email ?? read.email)
    const name = known && !isEmail ? read.name : (known?.name ?? read.name)
    task[part] = email ? { name, email } : { name }
  }

const list =
  (part: 'labels' | 'blockedBy', usual = /[,;\n]/): Fill =>
  ({ task }, { text, listSeparator }) => {
    const all = (task[part] ??= [])
    const inside = listSeparator ? undefined : bracketed.exec(text)?.[1]
    all.push(...listOf(inside ?? text, listSeparator ?? usual))
  }

const field: Fill = ({ task }, { text, column }) => {
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

const fills: Record<TaskTarget, Fill> = {
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
    else if (priority === null) keep(draft, column.header, text, `The priority "${short(text)}" is unknown`)
  },
  dueDate: date('dueDate'),
  remindAt: date('remindAt'),
  assignee: assignees,
  assigneeEmail: person('assignee', true),
  author: person('author'),
  authorEmail: person('author', true),
  createdAt: date('createdAt'),
  completed: (draft, cell) => {
    const text = cell.text.trim()
    const answer = answerOf(text)
    const isTime = answer === 'other' && /\d/.test(text) && !text.endsWith('%')
    if (answer === 'yes' || isTime) draft.isCompleted = true
    if (answer === 'other') (draft.task.fields ??= {})[cell.column.key] = text
    if (answer === 'other' && !isTime)
      draft.messages.push(
        `${cell.column.header}: ${short(text)} is not a date, yes or no: the task is not completed`,
      )
  },
  labels: list('labels'),
  parent: one('parent'),
  blockedBy: list('blockedBy', /[,;\s]/),
  comments: ({ comments }, { text }) => comments.push(...readComments(text)),
  // Microsoft Planner writes `one;two`.
  subtasks: ({ subtasks }, { text, column }) =>
    subtasks.push(...subtasksOf(column.plain === 'checklist items' ? text.replaceAll(';', '\n') : text)),
  notes: ({ notes }, { text, column }) => notes.push(`${column.header}: ${text}`),
  id: one('key'),
  externalId: one('externalId'),
}
