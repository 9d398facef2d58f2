import type { CommentItem, SubtaskItem } from '../items.ts'
import type { CommentOperation, SubtaskOperation } from '../command/operations.ts'
import type { Notes } from './notes.ts'
import { originOf, type ConvertContext } from './task.ts'
import { cut, isBlank } from './texts.ts'
import { titleIn } from './titles.ts'

const maxComment = 20_000

type Converted<Operation> = Omit<Operation, 'op' | 'id' | 'taskId'>

export function convertSubtask(
  item: SubtaskItem,
  context: ConvertContext,
  notes: Notes,
): Converted<SubtaskOperation> {
  const { createdAt } = originOf(item, context, notes)
  const title = titleIn(item.title, notes)
  return { title, completed: item.completed, ...(createdAt && { createdAt }) }
}

/** Returns undefined if the text is empty. */
export function convertComment(
  item: CommentItem,
  context: ConvertContext,
  notes: Notes,
): Converted<CommentOperation> | undefined {
  const origin = originOf(item, context, notes)
  if (isBlank(item.text)) {
    notes.report('The comment has no text')
    return undefined
  }
  const text = cut(item.text.trim(), maxComment).trim()
  if (text !== item.text.trim()) notes.report(`The comment was cut at ${maxComment} characters`)
  return { text, ...origin }
}
