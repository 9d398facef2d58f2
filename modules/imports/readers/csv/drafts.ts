import type { CellComment } from '../../../exports/cells.ts'
import type { TaskItem } from '../../items.ts'

/** The task of a row that is being read. */
export interface Draft {
  task: TaskItem
  /** The list or section, if another column has the status. */
  section?: string
  isCompleted?: boolean
  comments: CellComment[]
  subtasks: { title: string; completed: boolean }[]
  notes: string[]
  messages: string[]
}

/** Adds a text to the foot of the description. */
export function addNote(draft: Draft, header: string, text: string, message?: string): void {
  draft.notes.push(`${header}: ${text}`)
  if (message) draft.messages.push(message)
}
