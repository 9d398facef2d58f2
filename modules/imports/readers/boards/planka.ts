import type { Entry } from '../json/entry.ts'
import { attachment, type Board, nameOf } from './board.ts'
import { boardReader } from './board-reader.ts'
import { plankaColors } from './colors.ts'

/** Reads responses of Planka's API one after the other: boards, cards of a list, comments and actions of a card. */
export const readPlanka = boardReader({
  missing: 'The file is not a response of the API of Planka with a board: it has no included lists and cards',
  omitInLists: ['thumbnailUrls', 'image', 'description'],
  lists: {
    ...{ 'included.lists.*': 'lists', 'included.labels.*': 'labels', 'included.users.*': 'people' },
    ...{ 'included.customFields.*': 'fields', 'included.taskLists.*': 'checklists' },
    ...{ 'included.cardLabels.*': 'links', 'included.cardMemberships.*': 'links' },
    ...{ 'included.customFieldValues.*': 'links', 'included.attachments.*': 'links' },
  },
  ...{ colors: plankaColors, position: 'position' },
  cards: {
    at: ['included.cards.*', 'items.*'],
    /** The response with the cards of a list has the cards in `items`. */
    is: (row) => row.get('listId') !== undefined,
    ...{ description: 'description', list: 'listId', dueDate: 'dueDate', createdAt: 'createdAt' },
    ...{ author: 'creatorUserId', comments: 'commentsTotal' },
    // An archived card names its previous list.
    listName: (card, board) =>
      ['listId', 'prevListId'].map((key) => nameOf(board.find('lists', card.text(key)))).find(Boolean),
    status: (card, board) =>
      ['isClosed', 'isDueCompleted', 'isDueDateCompleted'].some((flag) => card.isSet(flag)) ||
      listType(card, board) === 'closed'
        ? 'DONE'
        : undefined,
    people: (card, board) =>
      board.of('cardMemberships', card.required('id')).flatMap((one) => board.person(one, 'userId') ?? []),
    labels: (card, board) =>
      board.of('cardLabels', card.required('id')).flatMap((one) => board.labelOf(one.required('labelId'))),
    values: (card, board) =>
      board
        .of('customFieldValues', card.required('id'))
        .map((one) => [one.required('customFieldId'), one.get('content')]),
    notes: {
      Archived: (card, board) => listType(card, board) === 'archive',
      'In the trash': (card, board) => listType(card, board) === 'trash',
      'Stopwatch in seconds': 'stopwatch.total',
      Attachment: (card, board) =>
        board
          .of('attachments', card.required('id'))
          .map((one) => attachment(one.text('name'), one.text('data.url|url'))),
    },
  },
  items: {
    at: ['included.tasks.*'],
    checklist: (item, board) => board.find('checklists', item.text('taskListId')),
    ...{ status: 'isCompleted', createdAt: 'createdAt', people: 'assigneeUserId' },
    notes: { 'Linked card': 'linkedCardId' },
  },
  comments: {
    at: ['items.*'],
    /** Comments of version 2, and actions of version 1 that are comments. */
    task: (row) =>
      row.get('listId') === undefined && (row.text('type') ?? 'commentCard') === 'commentCard'
        ? row.text('cardId')
        : undefined,
    ...{ text: 'data.text|text', author: 'userId', createdAt: 'createdAt' },
  },
})

const listType = (card: Entry, board: Board) => board.find('lists', card.text('listId'))?.text('type')
