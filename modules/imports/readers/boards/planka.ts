import { attachment, doneIf, nameOf } from './board.ts'
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
  rows: {
    ...{ cards: ['included.cards.*', 'items.*'], items: ['included.tasks.*'] },
    ...{ comments: ['items.*'], counted: ['items.*'] },
  },
  card(card, board) {
    // The response with the cards of a list has the cards in `items`.
    const listId = card.text('listId')
    if (listId === undefined) return undefined
    const id = card.required('id')
    const list = board.find('lists', listId)
    const type = list?.text('type')
    const isDone = ['isClosed', 'isDueCompleted', 'isDueDateCompleted'].some((flag) => card.isSet(flag))
    return {
      ...{ description: card.text('description'), listId, dueDate: card.text('dueDate') },
      // An archived card names its previous list.
      list: nameOf(list) ?? nameOf(board.find('lists', card.text('prevListId'))),
      ...{ status: doneIf(isDone || type === 'closed'), createdAt: card.text('createdAt') },
      author: board.person(card, 'creatorUserId'),
      people: board.of('cardMemberships', id).map((one) => board.person(one, 'userId')),
      labels: board.of('cardLabels', id).flatMap((one) => board.labelOf(one.required('labelId'))),
      values: board
        .of('customFieldValues', id)
        .map((one) => [one.required('customFieldId'), one.get('content')]),
      notes: {
        Archived: type === 'archive',
        'In the trash': type === 'trash',
        'Stopwatch in seconds': card.get('stopwatch.total'),
        Attachment: board
          .of('attachments', id)
          .map((one) => attachment(one.text('name'), one.text('data.url|url'))),
      },
      total: card.number('commentsTotal'),
    }
  },
  item: (item, board) => ({
    checklist: board.find('checklists', item.text('taskListId')),
    ...{ status: doneIf(item.isSet('isCompleted')), createdAt: item.text('createdAt') },
    people: board.people(item, 'assigneeUserId'),
    notes: { 'Linked card': item.get('linkedCardId') },
  }),
  /** Comments of version 2, and actions of version 1 that are comments. */
  comment(row, board) {
    const isComment = row.get('listId') === undefined && (row.text('type') ?? 'commentCard') === 'commentCard'
    return {
      ...{ task: isComment ? row.text('cardId') : undefined, text: row.text('data.text|text') },
      ...{ author: board.person(row, 'userId'), createdAt: row.text('createdAt') },
    }
  },
})
