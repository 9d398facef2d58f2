import { parseInstant } from '../../../../src/schema/text.ts'
import type { ImportedItem } from '../../items.ts'
import { maxLinks } from '../json/json-file.ts'
import { KeyMap } from '../key-map.ts'

/** The most characters of the items in the buffer. */
const maxCharacters = 16_000_000

type Positions = (number | undefined)[]

/** Sorts items by their positions. Sorts a large file in groups of 16 million characters. */
export class InOrder<T = ImportedItem> {
  private buffer: { item: T; order: Positions }[] = []
  private characters = 0

  /**
   * @param order positions, the most significant first. Items without a position come last.
   * @returns the sorted items when the buffer is full, else none
   */
  add(item: T, order: Positions, characters: number): T[] {
    this.buffer.push({ item, order })
    this.characters += characters
    return this.characters > maxCharacters ? this.take() : []
  }

  take(): T[] {
    const items = this.buffer.sort((one, other) => compare(one.order, other.order)).map(({ item }) => item)
    this.buffer = []
    this.characters = 0
    return items
  }
}

function compare(one: Positions, other: Positions): number {
  for (const [n, position = Infinity] of one.entries()) {
    const against = other[n] ?? Infinity
    if (position !== against) return position < against ? -1 : 1
  }
  return 0
}

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
