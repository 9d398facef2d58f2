import type { TaskRow } from '../../drizzle/rows.ts'
import type { EventDraft } from '../../src/model/events.ts'
import type { Fact } from '../../src/model/facts.ts'
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

  constructor(
    readonly projectId: string,
    private gaps: Gap[] = [],
    private readonly ids = new Map<string, string>(),
  ) {}

  fork(): Order {
    const fork = new Order(this.projectId, [...this.gaps], new Map(this.ids))
    fork.radius = this.radius
    return fork
  }

  addGap(low: string, high: string): void {
    if (low < high && !this.gaps.some((gap) => gap.low === low)) this.gaps.push({ low, high })
  }

  addTask(key: string, id: string): void {
    this.ids.set(key, id)
  }

  gapBefore(key: string): Gap | undefined {
    return this.gaps.find(({ high }) => high === key)
  }

  gapAfter(key: string): Gap | undefined {
    return this.gaps.find(({ low }) => low === key)
  }

  gapAround(key: string): Gap | undefined {
    return this.gaps.find(({ low, high }) => low < key && key < high)
  }

  /** Returns up to `count` tasks next to a gap that ends at `from`; undefined if they are not loaded. */
  neighbours(from: string, direction: Direction, count: number): Neighbours | undefined {
    const tasks: Neighbours['tasks'] = []
    let bound = from
    while (tasks.length < count && bound !== start && bound !== end) {
      const gap = direction === 'below' ? this.gapBefore(bound) : this.gapAfter(bound)
      if (!gap) return this.radius < count ? undefined : { tasks, bound }
      const id = this.ids.get(bound)
      if (id !== undefined) tasks.push({ id, key: bound })
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

  /** The key stays a bound if only one of its gaps is known. */
  private leave(key: string): void {
    this.ids.delete(key)
    const [below, above] = [this.gapBefore(key), this.gapAfter(key)]
    if (below && above) this.replace([below, above], [{ low: below.low, high: above.high }])
  }

  private enter(key: string, id: string): void {
    this.ids.set(key, id)
    const gap = this.gapAround(key)
    if (!gap) return
    this.replace(
      [gap],
      [
        { low: gap.low, high: key },
        { low: key, high: gap.high },
      ],
    )
  }

  private replace(old: Gap[], by: Gap[]): void {
    this.gaps = [...this.gaps.filter((gap) => !old.includes(gap)), ...by]
  }
}
