import type { TaskItem } from '../../items.ts'
import { type Cell, type CellOptions, cellReaders, readField } from './cell-readers.ts'
import type { ReadColumn } from './columns/columns-to-read.ts'
import { type TaskTarget, useOf } from './columns/targets.ts'
import type { Draft } from './drafts.ts'
import type { Row } from './row.ts'

/** Returns the draft of the task in a row. */
export function draftOf(row: Row, columns: ReadColumn[], options: CellOptions): Draft {
  const task: TaskItem = { kind: 'task', row: row.number, key: '', title: '' }
  const draft: Draft = { task, comments: [], subtasks: [], notes: [], messages: [] }
  const cell: Cell = { ...options, text: '', column: columns[0]! }
  const filled = new Map<string, string>()
  for (const column of columns) {
    const { target, header } = column
    const text = row.at(column.index)
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

/** ClickUp writes `null` and `[]` in empty cells. In our own files, they are names. */
const isEmpty = (text: string, { target }: ReadColumn, { listSeparator }: CellOptions) =>
  !listSeparator && mayBeEmpty.test(target) && /^\s*(null|\[\])\s*$/.test(text)
const mayBeEmpty =
  /^(status|list|priority|dueDate|remindAt|createdAt|completed|assignee|labels|parent|blockedBy|comments|subtasks)$/
