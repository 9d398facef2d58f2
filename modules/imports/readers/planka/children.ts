import type { ImportedItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { note } from '../json/notes.ts'
import type { Board } from './board.ts'

/**
 * Returns an item with an assignee or a linked card as a sub-item. The import turns it into a subtask, and adds the
 * assignee and the linked card to the description of the card.
 */
export function checkItemOf(item: Entry, board: Board): ImportedItem {
  const list = board.taskLists.get(item.text('taskListId') ?? '')
  const task = list?.text('cardId') ?? item.required('cardId')
  const isOneOfMany = (board.taskListsOf.get(task)?.length ?? 0) > 1
  const name = isOneOfMany ? list?.text('name') : undefined
  const title = (name ? `${name}: ` : '') + item.required('name')
  const common = { row: item.row, key: item.required('id'), title, createdAt: item.text('createdAt') }
  const completed = item.isTrue('isCompleted')
  const assignee = board.user(item.text('assigneeUserId'))
  const notes = note('Linked card', item.text('linkedCardId'))
  if (!assignee && notes.length === 0) return itemOf({ kind: 'subtask', ...common, task, completed })
  const status = completed ? 'DONE' : 'TODO'
  return itemOf({ kind: 'task', ...common, parent: task, status, assignee, notes })
}

/** @param comment of version 2, or an action of version 1 */
export function commentOf(comment: Entry, board: Board): ImportedItem {
  const text = comment.entry('data')?.text('text') ?? comment.text('text') ?? ''
  return itemOf({
    ...{
      kind: 'comment',
      row: comment.row,
      task: comment.required('cardId'),
      key: comment.required('id'),
      text,
    },
    ...{ author: board.user(comment.text('userId')), createdAt: comment.text('createdAt') },
  })
}
