import type { ImportedItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { itemOf } from '../json/items.ts'
import { KeyMap } from '../key-map.ts'
import type { Board } from './board.ts'
import { createdAtOf } from './ids.ts'

/** If a card has several checklists, the titles of its subtasks begin with the name of the checklist. */
export class ChecklistPrefixes {
  /** The cards with several checklists. */
  private readonly cards = new KeyMap<true>()

  add(card: Entry): void {
    if (card.texts('idChecklists').length > 1) this.cards.set(card.required('id'), true)
  }

  prefixFor(checklist: Entry): string {
    const name = checklist.text('name')
    return name && this.cards.has(checklist.text('idCard') ?? '') ? `${name}: ` : ''
  }
}

export function* subtasksOf(
  checklist: Entry,
  board: Board,
  prefixes: ChecklistPrefixes,
): Generator<ImportedItem> {
  const task = checklist.text('idCard')
  if (task === undefined) return
  const prefix = prefixes.prefixFor(checklist)
  const positions = checklist.entries('checkItems').map((item) => ({ item, at: item.number('pos') ?? 0 }))
  for (const { item } of positions.sort((one, other) => one.at - other.at))
    yield checkItemOf(item, task, prefix, board)
}

/**
 * Returns an item with a due date or a member as a sub-item. The import turns it into a subtask, and adds the due date
 * and the member to the description of the card.
 */
function checkItemOf(item: Entry, task: string, prefix: string, board: Board): ImportedItem {
  const key = item.required('id')
  const common = { row: item.row, key, title: prefix + item.required('name'), createdAt: createdAtOf(key) }
  const completed = item.text('state') === 'complete'
  const dueDate = item.text('due')
  const assignee = board.member(item.text('idMember'))
  if (!dueDate && !assignee) return itemOf({ kind: 'subtask', ...common, task, completed })
  const status = completed ? 'DONE' : 'TODO'
  return itemOf({ kind: 'task', ...common, parent: task, status, dueDate, assignee })
}
