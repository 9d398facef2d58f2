import type { TaskItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { assigneesOf, attachmentNote, itemOf, lostTime, namesNote, note } from '../json/items.ts'
import { type Board, idOf } from './wekan-board.ts'

export function cardOf(card: Entry, row: number, board: Board): TaskItem {
  const list = board.lists.get(card.text('listId') ?? '')
  const people = [...new Set([...card.texts('assignees'), ...card.texts('members')])]
  const { assignee, others } = assigneesOf(people.map((id) => board.user(id)!))
  const { fields, notes, messages } = fieldValuesOf(card, board)
  const swimlane = board.swimlanes.get(card.text('swimlaneId') ?? '')
  const names = card.texts('labelIds').flatMap((id) => board.labels.names.get(id) ?? [])
  return itemOf<TaskItem>({
    ...{ kind: 'task', row, key: idOf(card), title: card.required('title') },
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

function dependenciesOf(card: Entry): { type: string; id: string }[] {
  const dependencies = card.value.cardDependencies
  if (!Array.isArray(dependencies)) return []
  return dependencies.flatMap((one) => {
    const { cardId, type } =
      typeof one === 'object' && one !== null && !Array.isArray(one) ? one : { cardId: one }
    return typeof cardId === 'string' ? { id: cardId, type: String(type ?? 'related-to') } : []
  })
}

function notesOf(card: Entry, list: Entry | undefined, board: Board): string[] {
  const users = (key: string) => card.texts(key).map((id) => board.user(id)!)
  const vote = card.entry('vote')
  const voters = (key: string) => (vote?.texts(key) ?? []).map((id) => board.user(id)!)
  const isArchived = card.isTrue('archived')
  return [
    ...(isArchived ? ['Archived'] : list?.isTrue('archived') ? ['In an archived list'] : []),
    ...(card.text('type') === 'template-card' ? ['Template'] : []),
    ...note('Received', card.text('receivedAt')),
    ...note('Start', card.text('startAt')),
    ...note('End', card.text('endAt')),
    ...note('Spent time in hours', card.number('spentTime')),
    ...(card.isTrue('isOvertime') ? ['Overtime'] : []),
    ...note('Requested by', card.text('requestedBy')),
    ...namesNote('Requested by', users('requesters')),
    ...note('Assigned by', card.text('assignedBy')),
    ...namesNote('Assigned by', users('assigners')),
    ...note('Vote', vote?.text('question')),
    ...namesNote('Votes for', voters('positive')),
    ...namesNote('Votes against', voters('negative')),
    ...note('Estimate of the planning poker', card.entry('poker')?.text('estimation')),
    ...note('Location', card.text('locationName')),
    ...note('Address', card.text('locationAddress')),
    ...dependenciesOf(card).flatMap(({ type, id }) =>
      type === 'is-blocked-by' ? [] : note('Linked card', `${id} (${type})`),
    ),
    ...(board.attachments.get(idOf(card)) ?? []).flatMap((one) =>
      attachmentNote(one.text('name'), one.text('url')),
    ),
  ]
}

function fieldValuesOf(card: Entry, { fields }: Board) {
  const values: Record<string, string | number | boolean> = {}
  const notes: string[] = []
  const messages: string[] = []
  for (const entry of card.entries('customFields')) {
    const id = idOf(entry)
    const field = fields.get(id)
    const given = entry.value.value ?? ''
    const value = Array.isArray(given) ? entry.texts('value').join(', ') : given
    if (typeof value === 'object' || value === '') continue
    if (!field) notes.push(`Custom field ${id}: ${value}`)
    else {
      values[field.item.key] = field.options.get(String(value)) ?? value
      messages.push(...lostTime(field.item, value))
    }
  }
  return { fields: values, notes, messages }
}
