import { ImportError, type ImportedItem } from '../../items.ts'
import type { Reader } from '../reader.ts'
import type { Entry } from '../json/entry.ts'
import { InOrder } from '../json/in-order.ts'
import { JsonFile } from '../json/json-file.ts'
import { SubtaskOrder } from '../json/subtask-order.ts'
import { cardOf } from './card.ts'
import { checkItemOf, commentOf } from './children.ts'
import { type Board, boardOf, isComment } from './board.ts'

const parts = ['included.cards.*', 'included.tasks.*', 'items.*']

/** Reads responses of Planka's API one after the other: boards, cards of a list, comments and actions of a card. */
export const readPlanka: Reader = async function* ({ open }) {
  const file = new JsonFile(open)
  const board = await boardOf(file)
  if (!file.foundKeys.has('included'))
    throw new ImportError(
      'The file is not a response of the API of Planka: it has no included lists and cards',
    )
  yield* board.labels.items
  for (const { item } of board.fields.values()) yield item
  const [cards, subtasks] = [new InOrder<ImportedItem>(), new InOrder<ImportedItem>()]
  const order = new SubtaskOrder()
  for await (const entry of file.read(parts, { documents: 'many' })) {
    if (entry.part === 'included.tasks.*')
      yield* order.add(subtasks.add(checkItemOf(entry, board), taskOrderOf(entry, board), entry.characters))
    else if (entry.has('listId'))
      yield* cards.add(cardOf(entry, board), cardOrderOf(entry, board), entry.characters)
    else if (isComment(entry)) yield commentOf(entry, board)
  }
  yield* cards.take()
  yield* order.add(subtasks.take())
}

const cardOrderOf = (card: Entry, { lists }: Board) => [
  lists.get(card.text('listId') ?? '')?.number('position'),
  card.number('position'),
]

function taskOrderOf(task: Entry, { taskLists }: Board): (number | undefined)[] {
  const list = taskLists.get(task.text('taskListId') ?? '')
  return [list?.number('position'), list?.row, task.number('position')]
}
