import { ImportError, type ImportedItem } from '../../items.ts'
import type { Reader } from '../reader.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { InOrder } from '../json/in-order.ts'
import { JsonFile } from '../json/json-file.ts'
import { SubtaskOrder } from '../json/subtask-order.ts'
import { maxLinks } from '../json/limits.ts'
import { KeyMap } from '../key-map.ts'
import { cardOf } from './card.ts'
import { type Board, boardOf } from './board.ts'
import { idOf } from './ids.ts'

const parts = ['cards.*', 'subtaskItems.*', 'checklistItems.*', 'comments.*']

/** Reads the JSON export of a WeKan board. */
export const readWekan: Reader = async function* ({ open }) {
  const file = new JsonFile(open)
  const board = await boardOf(file)
  if (!file.foundKeys.has('lists'))
    throw new ImportError('The file is not the JSON export of a WeKan board: it has no lists')
  yield* board.labels.items
  for (const { item } of board.fields.values()) yield item
  const [cards, subtasks] = [new InOrder<ImportedItem>(), new InOrder<ImportedItem>()]
  const order = new SubtaskOrder()
  const subCards = new KeyMap<true>()
  for await (const entry of file.read(parts)) {
    const { part, characters } = entry
    if (part === 'comments.*') yield commentOf(entry, board)
    else if (part === 'checklistItems.*')
      yield* order.add(subtasks.add(subtaskOf(entry, board), orderOf(entry, board), characters))
    else if (isNew(entry, subCards)) {
      const list = board.lists.get(entry.text('listId') ?? '')
      yield* cards.add(cardOf(entry, board), [list?.number('sort'), entry.number('sort')], characters)
    }
  }
  yield* cards.take()
  yield* order.add(subtasks.take())
}

/** Cards that are parts of other cards may be in the file twice. */
function isNew(card: Entry, subCards: KeyMap<true>): boolean {
  if (!card.text('parentId')) return true
  const id = idOf(card)
  if (subCards.has(id)) return false
  if (subCards.size < maxLinks) subCards.set(id, true)
  return true
}

function subtaskOf(item: Entry, board: Board): ImportedItem {
  const task = item.required('cardId')
  const checklist = board.checklists.get(item.text('checklistId') ?? '')?.text('title')
  const isOneOfMany = (board.checklistsOfCards.get(task)?.length ?? 0) > 1
  const prefix = isOneOfMany && checklist ? `${checklist}: ` : ''
  return itemOf({
    ...{ kind: 'subtask', row: item.row, task, key: idOf(item), title: prefix + item.required('title') },
    ...{ completed: item.isTrue('isFinished'), createdAt: item.text('createdAt') },
  })
}

function orderOf(item: Entry, board: Board): (number | undefined)[] {
  const checklist = board.checklists.get(item.text('checklistId') ?? '')
  return [checklist?.number('sort'), checklist?.row, item.number('sort')]
}

function commentOf(comment: Entry, board: Board): ImportedItem {
  return itemOf({
    ...{ kind: 'comment', row: comment.row, task: comment.required('cardId'), key: idOf(comment) },
    ...{ text: comment.required('text'), author: board.user(comment.text('userId')) },
    createdAt: comment.text('createdAt'),
  })
}
