import { type CommentItem, ImportError, type ImportedItem } from '../../items.ts'
import type { Reader } from '../reader.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { InOrder } from '../json/in-order.ts'
import { JsonFile } from '../json/json-file.ts'
import { SubtaskOrder } from '../json/subtask-order.ts'
import { cardOf } from './card.ts'
import { ChecklistPrefixes, subtasksOf } from './checklists.ts'
import { actionsOf, commentedCard, details, memberOf } from './actions.ts'
import { type Board, boardOf } from './board.ts'

const parts = ['cards.*', 'actions.*', 'checklists.*']
/** Reads the JSON export of a Trello board. */
export const readTrello: Reader = async function* ({ open }) {
  const file = new JsonFile(open)
  const board = await boardOf(file)
  if (!file.foundKeys.has('lists'))
    throw new ImportError('The file is not the JSON export of a Trello board: it has no lists')
  const { description } = board
  if (description) yield { kind: 'project', row: 0, description }
  yield* board.labels.items
  for (const { item } of board.fields.values()) yield item
  const [cards, checklists] = [new InOrder<ImportedItem>(), new InOrder<Entry>()]
  const order = new SubtaskOrder()
  const prefixes = new ChecklistPrefixes()
  const subtasks = (entries: Entry[]) =>
    order.add(entries.flatMap((entry) => [...subtasksOf(entry, board, prefixes)]))
  const actions = await actionsOf(file, board)
  for await (const entry of file.read(parts, { omit: details })) {
    if (entry.part === 'actions.*') yield* commentsOf(entry, board)
    else if (entry.part === 'checklists.*')
      yield* subtasks(checklists.add(entry, [entry.number('pos')], entry.characters))
    else {
      prefixes.add(entry)
      const positions = [board.lists.get(entry.text('idList') ?? '')?.number('pos'), entry.number('pos')]
      const task = cardOf(entry, board, actions)
      yield* cards.add(task, positions, entry.characters)
    }
  }
  yield* cards.take()
  yield* subtasks(checklists.take())
}

function* commentsOf(action: Entry, board: Board): Generator<CommentItem> {
  const task = commentedCard(action)
  const data = action.entry('data')
  if (!data || task === undefined) return
  const author = memberOf(action, board)
  const text = data.text('text') ?? ''
  yield itemOf({
    ...{ kind: 'comment', row: action.row, task, key: action.required('id'), text },
    ...{ author, createdAt: action.text('date') },
  })
}
