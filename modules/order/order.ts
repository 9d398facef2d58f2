import type { TaskRow } from '../../drizzle/rows.ts'
import type { EventDraft } from '../../src/model/events.ts'
import type { Fact } from '../../src/model/definition.ts'
import { end, type Gap, keyOf, start } from './keys.ts'

type Direction = 'below' | 'above'

export interface Neighbours {
  /** From the nearest to the farthest. */
  tasks: { id: string; key: string }[]
  /** The key after the farthest task. */
  bound: string
}

/** The known part of a project's order: gaps, and the tasks between two known gaps. */
export class Order implements Fact {
  /** At most this many tasks on each side of a gap were loaded. */
  radius = 0

  private readonly byLow = new Map<string, Gap>()
  private readonly byHigh = new Map<string, Gap>()

  constructor(
    readonly projectId: string,
    gaps: Iterable<Gap> = [],
    private readonly ids = new Map<string, string>(),
  ) {
    for (const gap of gaps) this.add(gap)
  }

  fork(): Order {
    const fork = new Order(this.projectId, this.byLow.values(), new Map(this.ids))
    fork.radius = this.radius
    return fork
  }

  addGap(low: string, high: string): void {
    if (low < high && !this.byLow.has(low)) this.add({ low, high })
  }

  addTask(key: string, id: string): void {
    this.ids.set(key, id)
  }

  gapBefore(key: string): Gap | undefined {
    return this.byHigh.get(key)
  }

  gapAfter(key: string): Gap | undefined {
    return this.byLow.get(key)
  }

  gapAround(key: string): Gap | undefined {
    for (const gap of this.byLow.values()) if (gap.low < key && key < gap.high) return gap
    return undefined
  }

  /** Returns up to `count` tasks next to a gap that ends at `from`; undefined if they are not loaded. */
  neighbours(from: string, direction: Direction, count: number): Neighbours | undefined {
    const tasks: Neighbours['tasks'] = []
    let bound = from
    while (tasks.length < count && bound !== start && bound !== end) {
      const gap = direction === 'below' ? this.gapBefore(bound) : this.gapAfter(bound)
      const id = this.ids.get(bound)
      // A known gap may end at a task that is not loaded. No other task may pass this task.
      if (!gap || id === undefined) return this.radius < count ? undefined : { tasks, bound }
      tasks.push({ id, key: bound })
      bound = direction === 'below' ? gap.low : gap.high
    }
    return { tasks, bound }
  }

  apply({ entity, entityId, before, after }: EventDraft): void {
    if (entity !== 'task') return
    const [old, now] = [before && keyOf({ ...after, ...before } as TaskRow), after && keyOf(after as TaskRow)]
    if (old === now) return
    if (old !== null) this.leave(old)
    if (now !== null) this.enter(now, entityId)
  }

  /**
   * Merges the two gaps next to a key that a task has left. If only one of them is known, the key remains its bound.
   */
  private leave(key: string): void {
    this.ids.delete(key)
    const [below, above] = [this.gapBefore(key), this.gapAfter(key)]
    if (!below || !above) return
    this.remove(below)
    this.remove(above)
    this.add({ low: below.low, high: above.high })
  }

  private enter(key: string, id: string): void {
    this.ids.set(key, id)
    const gap = this.gapAround(key)
    if (!gap) return
    this.remove(gap)
    this.add({ low: gap.low, high: key })
    this.add({ low: key, high: gap.high })
  }

  private add(gap: Gap): void {
    this.byLow.set(gap.low, gap)
    this.byHigh.set(gap.high, gap)
  }

  private remove({ low, high }: Gap): void {
    this.byLow.delete(low)
    this.byHigh.delete(high)
  }
}
