import type { Entry } from '../json/entry.ts'
import { attachment, type Board, isoTime, type ListName } from './board.ts'
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
  cards: {
    at: ['boards.*.stacks.*.cards.*', 'stacks.*.cards.*', '*.stacks.*.cards.*', '*.cards.*'],
    ...{ description: 'description', list: 'stackId', dueDate: 'duedate', author: 'owner' },
    ...{ people: 'assignedUsers', labels: 'labels', comments: 'commentsCount' },
    createdAt: (card) => isoTime((card.number('createdAt') || NaN) * 1000),
    status: (card, board) =>
      card.isSet('done') || stackOf(card, board)?.isSet('isDoneColumn') ? 'DONE' : undefined,
    label: (card, board) => board.laneOf(stackOf(card, board)?.text('boardId')),
    notes: {
      Archived: 'archived',
      Deleted: (card) => card.isSet('deletedAt'),
      ...{ Start: 'startdate', Completed: 'done' },
      Attachment: (card) =>
        card.entries('attachments').map((one) => attachment(one.text('data'), one.text('extendedData.path'))),
    },
  },
  comments: {
    in: (card) => card.entries('comments'),
    text: 'message',
    author: (comment) => {
      const name = comment.text('actorDisplayName|actorId')
      return name === undefined ? undefined : { name }
    },
    createdAt: 'creationDateTime',
  },
})

const stackOf = (card: Entry, board: Board) => board.find('lists', card.text('stackId'))
