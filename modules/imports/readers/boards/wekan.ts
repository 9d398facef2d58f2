import type { FieldItem } from '../../items.ts'
import { type Entry, isObject } from '../json/entry.ts'
import { attachment, type FieldValue, idOf } from './board.ts'
import { boardReader } from './board-reader.ts'
import { wekanColors } from './colors.ts'

const types: Record<string, FieldItem['type']> = {
  ...{ number: 'number', currency: 'number', checkbox: 'boolean', date: 'date', dropdown: 'choice' },
}

/** Reads the JSON export of a WeKan board. */
export const readWekan = boardReader({
  missing: 'The file is not the JSON export of a WeKan board: it has no lists',
  omit: ['file', 'avatarFile', 'avatarUrl', 'permission', 'boardIds'],
  lists: {
    ...{ 'swimlanes.*': 'lanes', 'lists.*': 'lists', 'labels.*': 'labels', 'users.*': 'people' },
    ...{ 'customFields.*': 'fields', 'checklists.*': 'checklists', 'attachments.*': 'links' },
  },
  ...{ colors: wekanColors, position: 'sort' },
  field: (field) => ({
    type: types[field.text('type') ?? ''],
    options: field.entries('settings.dropdownItems').map((item) => [idOf(item), item.text('name') ?? '']),
  }),
  cards: {
    at: ['cards.*', 'subtaskItems.*'],
    ...{ description: 'description', list: 'listId', status: 'dueComplete', dueDate: 'dueAt' },
    ...{ createdAt: 'createdAt', author: 'userId', labels: 'labelIds', parent: 'parentId' },
    people: (card, board) => board.people(card, 'assignees', 'members'),
    label: (card, board) => board.laneOf(card.text('swimlaneId')),
    values: (card) => card.entries('customFields').map(valueOf),
    blockedBy: (card) => dependenciesOf(card).flatMap(({ type, id }) => (type === 'is-blocked-by' ? id : [])),
    notes: {
      Archived: 'archived',
      'In an archived list': (card, board) =>
        !card.isSet('archived') && board.find('lists', card.text('listId'))?.isSet('archived'),
      Template: (card) => card.text('type') === 'template-card',
      ...{ Received: 'receivedAt', Start: 'startAt', End: 'endAt', 'Spent time in hours': 'spentTime' },
      Overtime: 'isOvertime',
      'Requested by': (card, board) => [card.text('requestedBy'), board.names(card, 'requesters')],
      'Assigned by': (card, board) => [card.text('assignedBy'), board.names(card, 'assigners')],
      Vote: 'vote.question',
      'Votes for': (card, board) => board.names(card, 'vote.positive'),
      'Votes against': (card, board) => board.names(card, 'vote.negative'),
      'Estimate of the planning poker': 'poker.estimation',
      ...{ Location: 'locationName', Address: 'locationAddress' },
      'Linked card': (card) =>
        dependenciesOf(card).flatMap(({ type, id }) => (type === 'is-blocked-by' ? [] : `${id} (${type})`)),
      Attachment: (card, board) =>
        board.of('attachments', idOf(card)).map((one) => attachment(one.text('name'), one.text('url'))),
    },
  },
  items: {
    at: ['checklistItems.*'],
    checklist: (item, board) => board.find('checklists', item.text('checklistId')),
    ...{ status: 'isFinished', createdAt: 'createdAt' },
  },
  comments: {
    at: ['comments.*'],
    ...{ task: 'cardId', text: 'text', author: 'userId', createdAt: 'createdAt' },
  },
})

function valueOf(entry: Entry): FieldValue {
  const value = entry.get('value')
  return [idOf(entry), Array.isArray(value) ? entry.texts('value').join(', ') : value]
}

/** Old versions store only the id of the other card. */
function dependenciesOf(card: Entry): { type: string; id: string }[] {
  if (!Array.isArray(card.value.cardDependencies)) return []
  return card.list('cardDependencies').flatMap(([, one]) => {
    const { cardId, type } = isObject(one) ? one : { cardId: one }
    return typeof cardId === 'string' ? { id: cardId, type: String(type ?? 'related-to') } : []
  })
}
