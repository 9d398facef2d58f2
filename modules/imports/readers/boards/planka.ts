import type { Entry } from '../json/entry.ts'
import { attachmentNote, note, personOf } from '../json/parts.ts'
import { type Board, boardReader } from './board.ts'
import { plankaColors } from './colors.ts'

const links = ['cardLabels', 'cardMemberships', 'customFieldValues', 'attachments'].map(
  (name) => `included.${name}.*`,
)
const [labelsOfCards, members, values, attachments] = links as [string, string, string, string]

/** Reads responses of Planka's API one after the other: boards, cards of a list, comments and actions of a card. */
export const readPlanka = boardReader({
  parts: {
    ...{ lists: 'included.lists.*', labels: 'included.labels.*', people: 'included.users.*' },
    ...{ fields: 'included.customFields.*', checklists: 'included.taskLists.*', links },
    ...{ cards: ['included.cards.*'], items: 'included.tasks.*', comments: 'items.*' },
  },
  required: ['included.lists', 'included.cards'],
  missing: 'The file is not a response of the API of Planka with a board: it has no included lists and cards',
  index: { documents: 'many', omit: ['thumbnailUrls', 'image', 'description'] },
  rows: { documents: 'many' },
  colors: plankaColors,
  position: 'position',
  idOf: (entry) => entry.required('id'),
  person: (user) =>
    personOf([user.text('name'), user.text('username'), user.required('id')], user.text('email')),
  field: (field) => ({ id: field.required('id') }),
  scan(row, board) {
    if (isComment(row)) board.comments.add(row.required('cardId'))
  },
  /** The response with the cards of a list has the cards in `items`. */
  card: (card, board) => (card.has('listId') ? cardOf(card, board) : undefined),
  item(item, board) {
    const checklist = board.checklists.get(item.text('taskListId') ?? '')
    return {
      ...{ key: item.required('id'), task: checklist?.text('cardId') ?? item.required('cardId'), checklist },
      ...{ title: item.required('name'), createdAt: item.text('createdAt') },
      ...{ completed: item.isTrue('isCompleted'), assignee: board.person(item.text('assigneeUserId')) },
      notes: note('Linked card', item.text('linkedCardId')),
    }
  },
  comment: (row, board) =>
    isComment(row)
      ? {
          ...{ task: row.required('cardId'), key: row.required('id') },
          text: row.entry('data')?.text('text') ?? row.text('text') ?? '',
          ...{ author: board.person(row.text('userId')), createdAt: row.text('createdAt') },
        }
      : undefined,
})

/** True for comments of version 2, and for actions of version 1 that are comments. */
const isComment = (item: Entry): boolean =>
  item.has('cardId') && !item.has('listId') && (item.text('type') ?? 'commentCard') === 'commentCard'

const states: Record<string, string> = { archive: 'Archived', trash: 'In the trash' }

function cardOf(card: Entry, board: Board) {
  const key = card.required('id')
  const listId = card.text('listId')
  const list = board.lists.get(listId ?? '')
  // An archived card names its previous list.
  const before = board.lists.get(card.text('prevListId') ?? '')
  const type = list?.text('type') ?? ''
  const isDone = ['isClosed', 'isDueCompleted', 'isDueDateCompleted'].some((flag) => card.isTrue(flag))
  return {
    ...{ key, listId, title: card.required('name'), description: card.text('description') },
    list: list?.text('name') ?? before?.text('name'),
    ...((isDone || type === 'closed') && { status: 'DONE' as const }),
    ...{ dueDate: card.text('dueDate'), createdAt: card.text('createdAt') },
    author: board.person(card.text('creatorUserId')),
    people: board.persons(board.of(members, key).map((one) => one.required('userId'))),
    labels: board.labelNames(board.of(labelsOfCards, key).map((one) => one.required('labelId'))),
    values: board
      .of(values, key)
      .map((one): [string, string | undefined] => [one.required('customFieldId'), one.text('content')]),
    notes: [
      ...(states[type] ? [states[type]] : []),
      ...note('Stopwatch in seconds', card.entry('stopwatch')?.number('total')),
      ...board
        .of(attachments, key)
        .flatMap((one) =>
          attachmentNote(one.text('name'), one.entry('data')?.text('url') ?? one.text('url')),
        ),
    ],
    comments: card.number('commentsTotal'),
  }
}
