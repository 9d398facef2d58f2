import type { CommentItem, SubtaskItem } from '../items.ts'
import type { CommentOperation, SubtaskOperation } from '../command/operations.ts'
import type { Notes } from './notes.ts'
import { originOf, type PlanContext } from './task.ts'
import { cut, isBlank } from './texts.ts'
import { titleIn } from './titles.ts'

const maxComment = 20_000

type Planned<Operation> = Omit<Operation, 'op' | 'id' | 'taskId'>

export function planSubtask(
  item: SubtaskItem,
  context: PlanContext,
  notes: Notes,
): Planned<SubtaskOperation> {
  const { createdAt } = originOf(item, context, notes)
  const title = titleIn(item.title, notes)
  return { title, completed: item.completed, ...(createdAt && { createdAt }) }
}

/** Returns undefined if the text is empty. */
export function planComment(
  item: CommentItem,
  context: PlanContext,
  notes: Notes,
): Planned<CommentOperation> | undefined {
  const origin = originOf(item, context, notes)
  if (isBlank(item.text)) {
    notes.list('The comment has no text')
    return undefined
  }
  const text = cut(item.text.trim(), maxComment).trim()
  if (text !== item.text.trim()) notes.list(`The comment was cut at ${maxComment} characters`)
  return { text, ...origin }
}
