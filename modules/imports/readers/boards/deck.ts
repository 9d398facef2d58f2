import type { Entry } from '../json/entry.ts'
import { attachment, doneIf, isoTime, type ListName } from './board.ts'
import { boardReader } from './board-reader.ts'

/** Returns a board with its labels and stacks. */
const rowsOf = (board: Entry): [ListName, Entry][] => [
  ['lanes', board],
  ...board.entries('labels').map((label): [ListName, Entry] => ['labels', label]),
  ...board.entries('stacks').map((stack): [ListName, Entry] => ['lists', stack]),
]

/** Reads the output of `occ deck:export`, the export of a board, or a response of the API of Nextcloud Deck. */
export const readDeck = boardReader({
  missing: 'The file is not a Deck export of boards with cards: it has no stacks',
  omit: ['contentBase64', 'board', 'acl', 'mentions', 'replyTo', 'users', 'permissions', 'settings'],
  omitInLists: ['cards'],
  lists: {
    ...{ 'boards.*': rowsOf, 'stacks.*': 'lists', 'labels.*': 'labels' },
    /** A list of boards or stacks. */
    '*': (row) => (row.isSet('stacks') ? rowsOf(row) : row.isSet('boardId') ? [['lists', row]] : []),
  },
  position: 'order',
  rows: {
    cards: ['boards.*.stacks.*.cards.*', 'stacks.*.cards.*', '*.stacks.*.cards.*', '*.cards.*'],
  },
  card(card, board) {
    const stack = board.find('lists', card.text('stackId'))
    return {
      ...{ description: card.text('description'), listId: card.text('stackId') },
      status: doneIf(card.isSet('done') || stack?.isSet('isDoneColumn')),
      dueDate: card.text('duedate'),
      createdAt: isoTime((card.number('createdAt') || NaN) * 1000),
      ...{ author: board.person(card, 'owner'), people: board.people(card, 'assignedUsers') },
      labels: [...board.labelNames(card, 'labels'), board.laneOf(stack?.text('boardId'))],
      notes: {
        Archived: card.get('archived'),
        Deleted: card.isSet('deletedAt'),
        Start: card.get('startdate'),
        Completed: card.get('done'),
        Attachment: card
          .entries('attachments')
          .map((one) => attachment(one.text('data'), one.text('extendedData.path'))),
      },
      ...{ comments: card.entries('comments'), total: card.number('commentsCount') },
    }
  },
  comment(comment) {
    const name = comment.text('actorDisplayName|actorId')
    return {
      ...{ text: comment.text('message'), createdAt: comment.text('creationDateTime') },
      author: name === undefined ? undefined : { name },
    }
  },
})
