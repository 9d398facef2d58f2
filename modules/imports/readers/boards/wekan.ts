import type { FieldItem } from '../../items.ts'
import { type Entry, isObject } from '../json/entry.ts'
import { archived, attachment, doneIf, type FieldValue, idOf } from './board.ts'
import { boardReader } from './board-reader.ts'
import { wekanColors } from './colors.ts'

const types: Record<string, FieldItem['type']> = {
  ...{ number: 'number', currency: 'number', checkbox: 'boolean', date: 'date', dropdown: 'choice' },
}

export const readWekan = boardReader({
  missing: 'The file is not the JSON export of a WeKan board: it has no lists',
  omit: ['file', 'avatarFile', 'avatarUrl', 'permission', 'boardIds'],
  lists: {
    ...{ 'swimlanes.*': 'lanes', 'lists.*': 'lists', 'labels.*': 'labels', 'users.*': 'people' },
    ...{ 'customFields.*': 'fields', 'checklists.*': 'checklists', 'attachments.*': 'links' },
  },
  ...{ colors: wekanColors, position: 'sort' },
  rows: { cards: ['cards.*', 'subtaskItems.*'], items: ['checklistItems.*'], comments: ['comments.*'] },
  field: (field) => ({
    type: types[field.text('type') ?? ''],
    options: field.entries('settings.dropdownItems').map((item) => [idOf(item), item.text('name') ?? '']),
  }),
  card: (card, board) => ({
    ...{ description: card.text('description'), listId: card.text('listId'), dueDate: card.text('dueAt') },
    ...{ status: doneIf(card.isSet('dueComplete')), createdAt: card.text('createdAt') },
    ...{ author: board.person(card, 'userId'), parent: card.text('parentId') },
    people: board.people(card, 'assignees', 'members'),
    labels: [...board.labelNames(card, 'labelIds'), board.laneOf(card.text('swimlaneId'))],
    values: card.entries('customFields').map(valueOf),
    blockedBy: dependenciesOf(card).flatMap(({ type, id }) => (type === 'is-blocked-by' ? id : [])),
    notes: {
      ...archived(card, board.find('lists', card.text('listId')), 'archived'),
      Template: card.text('type') === 'template-card',
      Received: card.get('receivedAt'),
      Start: card.get('startAt'),
      End: card.get('endAt'),
      'Spent time in hours': card.get('spentTime'),
      Overtime: card.get('isOvertime'),
      'Requested by': [card.get('requestedBy'), board.names(card, 'requesters')],
      'Assigned by': [card.get('assignedBy'), board.names(card, 'assigners')],
      Vote: card.get('vote.question'),
      'Votes for': board.names(card, 'vote.positive'),
      'Votes against': board.names(card, 'vote.negative'),
      'Estimate of the planning poker': card.get('poker.estimation'),
      Location: card.get('locationName'),
      Address: card.get('locationAddress'),
      'Linked card': dependenciesOf(card).flatMap(({ type, id }) =>
        type === 'is-blocked-by' ? [] : `${id} (${type})`,
      ),
      Attachment: board
        .of('attachments', idOf(card))
        .map((one) => attachment(one.text('name'), one.text('url'))),
    },
  }),
  item: (item, board) => ({
    checklist: board.find('checklists', item.text('checklistId')),
    ...{ status: doneIf(item.isSet('isFinished')), createdAt: item.text('createdAt') },
  }),
  comment: (comment, board) => ({
    ...{ task: comment.text('cardId'), text: comment.text('text'), author: board.person(comment, 'userId') },
    createdAt: comment.text('createdAt'),
  }),
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
