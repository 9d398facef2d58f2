import type { TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { assigneesOf } from '../json/notes.ts'
import type { Board } from './board.ts'
import { fieldValuesOf } from './fields.ts'
import { idOf } from './ids.ts'
import { dependenciesOf, notesOf } from './notes.ts'

export function cardOf(card: Entry, board: Board): TaskItem {
  const list = board.lists.get(card.text('listId') ?? '')
  const people = [...new Set([...card.texts('assignees'), ...card.texts('members')])]
  const { assignee, others } = assigneesOf(people.map((id) => board.user(id)!))
  const { fields, notes, messages } = fieldValuesOf(card, board.fields)
  const swimlane = board.swimlanes.get(card.text('swimlaneId') ?? '')
  const names = card.texts('labelIds').flatMap((id) => board.labels.names.get(id) ?? [])
  return itemOf<TaskItem>({
    ...{ kind: 'task', row: card.row, key: idOf(card), title: card.required('title') },
    description: card.text('description'),
    list: list?.text('title'),
    status: card.isTrue('dueComplete') ? 'DONE' : undefined,
    dueDate: card.text('dueAt'),
    createdAt: card.text('createdAt'),
    author: board.user(card.text('userId')),
    assignee,
    labels: swimlane ? [...names, swimlane] : names,
    fields,
    parent: card.text('parentId'),
    blockedBy: dependenciesOf(card).flatMap(({ type, id }) => (type === 'is-blocked-by' ? id : [])),
    notes: [...notesOf(card, list, board), ...others, ...notes],
    messages,
  })
}
