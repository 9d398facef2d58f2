import { parseInstant } from '../../../../src/schema/text.ts'
import type { ImportedItem } from '../../items.ts'
import { KeyMap } from '../key-map.ts'
import { maxLinks } from './limits.ts'

/** Keeps the order of subtasks: lists sort them by the times in their ids, so these times must not decrease. */
export class SubtaskOrder {
  /** The latest creation time so far in ms, by the keys of tasks. */
  private readonly latest = new KeyMap<number>()

  /** @param items subtasks and sub-items in the order of their positions */
  add(items: ImportedItem[]): ImportedItem[] {
    return items.map((item) => {
      const orderMs = this.orderOf(item)
      return orderMs === undefined ? item : { ...item, orderMs }
    })
  }

  private orderOf(item: ImportedItem): number | undefined {
    const task = item.kind === 'subtask' ? item.task : item.kind === 'task' ? item.parent : undefined
    if (task === undefined) return undefined
    const before = this.latest.get(task)
    const created = 'createdAt' in item ? Date.parse(parseInstant(item.createdAt?.trim() ?? '') ?? '') : NaN
    if (Number.isNaN(created) || created <= before!) return before
    if (before !== undefined || this.latest.size < maxLinks) this.latest.set(task, created)
    return created
  }
}
