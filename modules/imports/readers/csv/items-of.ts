import type { CommentItem, ImportedItem, SubtaskItem } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import type { DigestKeys } from '../../convert/keys.ts'
import { statusOf } from '../../convert/statuses.ts'
import type { Draft } from './drafts.ts'
import { oneLine } from './values.ts'

/** Returns the task of a draft, then its subtasks and comments. */
export function itemsOf(draft: Draft, keys: DigestKeys, mapping: Mapping): ImportedItem[] {
  const { task } = draft
  finishStatus(draft, mapping)
  if (!task.title) task.problem = 'The row has no title'
  if (task.labels) task.labels = [...new Set(task.labels)]
  const key = (task.key ||= keys.next(oneLine(task.title)))
  if (draft.notes.length > 0) task.notes = draft.notes
  if (draft.messages.length > 0) task.messages = draft.messages
  const child = { row: task.row, task: key }
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
