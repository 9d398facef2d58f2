import type { TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { fieldValues } from '../json/fields.ts'
import { itemOf } from '../json/items.ts'
import { assigneesOf, attachmentNote, note } from '../json/notes.ts'
import type { Board } from './board.ts'

export function cardOf(card: Entry, board: Board): TaskItem {
  const key = card.required('id')
  const list = board.lists.get(card.text('listId') ?? '')
  const members = board.membersOf.get(key) ?? []
  const { assignee, others } = assigneesOf(members.map((one) => board.user(one.required('userId'))!))
  const values = board.valuesOf.get(key) ?? []
  const { fields, notes } = fieldValues(
    values.map((value) => [value.required('customFieldId'), value.text('content')]),
    board.fields,
  )
  const isDone = ['isClosed', 'isDueCompleted', 'isDueDateCompleted'].some((flag) => card.isTrue(flag))
  return itemOf<TaskItem>({
    ...{
      kind: 'task',
      row: card.row,
      key,
      title: card.required('name'),
      description: card.text('description'),
    },
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
    messages: board.comments.missing(key, card.number('commentsTotal')),
  })
}

/** Returns the previous list of an archived card. */
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
