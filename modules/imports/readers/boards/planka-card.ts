import type { ImportedItem, TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { assigneesOf, attachmentNote, itemOf, note } from '../json/items.ts'
import type { Board } from './planka-board.ts'

export function cardOf(card: Entry, row: number, board: Board): TaskItem {
  const key = card.required('id')
  const list = board.lists.get(card.text('listId') ?? '')
  const members = board.membersOf.get(key) ?? []
  const { assignee, others } = assigneesOf(members.map((one) => board.user(one.required('userId'))!))
  const { fields, notes } = fieldValuesOf(key, board)
  const isDone = ['isClosed', 'isDueCompleted', 'isDueDateCompleted'].some((flag) => card.isTrue(flag))
  return itemOf<TaskItem>({
    ...{ kind: 'task', row, key, title: card.required('name'), description: card.text('description') },
    list: listNameOf(card, list, board),
    status: isDone || list?.text('type') === 'closed' ? 'DONE' : undefined,
    dueDate: card.text('dueDate'),
    createdAt: card.text('createdAt'),
    author: board.user(card.text('creatorUserId')),
    assignee,
    labels: (board.labelsOf.get(key) ?? []).flatMap(
      (one) => board.labels.names.get(one.required('labelId')) ?? [],
    ),
    fields,
    notes: [...notesOf(card, list, board), ...others, ...notes],
  })
}

/** An archived card has the list that it was in before. */
function listNameOf(card: Entry, list: Entry | undefined, board: Board): string | undefined {
  const before = board.lists.get(card.text('prevListId') ?? '')
  return list?.text('name') ?? before?.text('name')
}

const states: Record<string, string> = { archive: 'Archived', trash: 'In the trash' }

function notesOf(card: Entry, list: Entry | undefined, board: Board): string[] {
  const state = states[list?.text('type') ?? '']
  return [
    ...(state ? [state] : []),
    ...note('Stopwatch in seconds', card.entry('stopwatch')?.number('total')),
    ...(board.attachmentsOf.get(card.required('id')) ?? []).flatMap((one) =>
      attachmentNote(one.text('name'), one.entry('data')?.text('url') ?? one.text('url')),
    ),
  ]
}

function fieldValuesOf(card: string, board: Board) {
  const fields: Record<string, string> = {}
  const notes: string[] = []
  for (const value of board.valuesOf.get(card) ?? []) {
    const [id, content] = [value.required('customFieldId'), value.text('content')]
    if (content === undefined) continue
    const field = board.fields.get(id)
    if (field) fields[field.key] = content
    else notes.push(`Custom field ${id}: ${content}`)
  }
  return { fields, notes }
}

/** An item of a checklist. With an assignee or a linked card it is a nested task, because a subtask has neither. */
export function checkItemOf(item: Entry, row: number, board: Board): ImportedItem {
  const list = board.taskLists.get(item.text('taskListId') ?? '')
  const task = list?.text('cardId') ?? item.required('cardId')
  const isOneOfMany = (board.taskListsOf.get(task)?.length ?? 0) > 1
  const name = isOneOfMany ? list?.text('name') : undefined
  const title = (name ? `${name}: ` : '') + item.required('name')
  const common = { row, key: item.required('id'), title, createdAt: item.text('createdAt') }
  const completed = item.isTrue('isCompleted')
  const assignee = board.user(item.text('assigneeUserId'))
  const notes = note('Linked card', item.text('linkedCardId'))
  if (!assignee && notes.length === 0) return itemOf({ kind: 'subtask', ...common, task, completed })
  const status = completed ? 'DONE' : 'TODO'
  return itemOf({ kind: 'task', ...common, parent: task, status, assignee, notes })
}

/** @param comment of version 2, or an action of version 1 */
export function commentOf(comment: Entry, row: number, board: Board): ImportedItem {
  const text = comment.entry('data')?.text('text') ?? comment.text('text') ?? ''
  return itemOf({
    ...{ kind: 'comment', row, task: comment.required('cardId'), key: comment.required('id'), text },
    ...{ author: board.user(comment.text('userId')), createdAt: comment.text('createdAt') },
  })
}
