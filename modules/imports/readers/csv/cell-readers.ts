import { readComments } from '../../../exports/cells.ts'
import type { FieldType } from './columns/survey.ts'
import type { TaskTarget } from './columns/targets.ts'
import type { ReadColumn } from './columns/columns-to-read.ts'
import type { Dates } from './dates/dates.ts'
import { addNote, type Draft } from './drafts.ts'
import { personOf } from './people.ts'
import { answerOf, listOf, oneLine, type Priorities, priorityOf, subtasksOf } from './values.ts'

export interface CellOptions {
  dates: Dates
  /** The time zone of the row's dates. */
  zone?: string
  priorities?: Priorities
  listSeparator?: RegExp
}
export interface Cell extends CellOptions {
  text: string
  column: ReadColumn
}
export type CellReader = (draft: Draft, cell: Cell) => void

const short = (text: string) => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

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
    const read = dates.read(end!.trim(), zone)
    if (read) draft.task[part] = read
    if (!read) addNote(draft, column.header, text, unreadDate(text, end))
    else if (starts.length > 0) addNote(draft, column.header, text)
  }

/** Returns a line for the report. @param date the part of the text that is the date */
export const unreadDate = (text: string, date = text): string =>
  `The date "${short(text)}" cannot be read: ${adviceFor(date)}`

function adviceFor(date: string): string {
  if (/^\s*\d{5}([.,]\d+)?\s*$/.test(date)) return forSerials
  return /^\s*(\p{L}{3,10}\.? \d{1,2}|\d{1,2}\.? \p{L}{3,10})\s*$/u.test(date) ? 'it has no year' : forDates
}
const forDates = 'send mapping.dateFormat, such as DD/MM/YYYY'
/** Spreadsheets store a date as the number of its day. */
const forSerials = 'format the column of the spreadsheet as dates'

const bracketed = /^\s*\[(.*)\]\s*$/s

/** ClickUp writes `[Ada,Bob]`, others `Ada;Bob`. */
const assignees: CellReader = (draft, cell) => {
  const { text, listSeparator } = cell
  const inside = listSeparator ? undefined : bracketed.exec(text)?.[1]
  const [first = text, ...others] = listOf(inside ?? text, listSeparator ?? (inside ? /[,;\n]/ : /[;\n]/))
  person('assignee')(draft, { ...cell, text: first })
  if (others.length > 0) draft.notes.push(`Also assigned: ${others.map(oneLine).join(', ')}`)
}

const person =
  (part: 'assignee' | 'author', isEmail = false): CellReader =>
  ({ task }, { text }) => {
    const known = task[part]
    const read = personOf(oneLine(text))
    const email = isEmail ? text.trim() : (known?.email ?? read.email)
    const name = known && !isEmail ? read.name : (known?.name ?? read.name)
    task[part] = email ? { name, email } : { name }
  }

const list =
  (part: 'labels' | 'blockedBy', usual = /[,;\n]/): CellReader =>
  ({ task }, { text, listSeparator }) => {
    const all = (task[part] ??= [])
    const inside = listSeparator ? undefined : bracketed.exec(text)?.[1]
    all.push(...listOf(inside ?? text, listSeparator ?? usual))
  }

export const readField: CellReader = ({ task }, { text, column }) => {
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

/** The function that reads a cell into a draft, by the target of its column. */
export const cellReaders: Record<TaskTarget, CellReader> = {
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
