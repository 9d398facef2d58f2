import type { StoredEvent } from '../model/events.ts'
import { lengthOf } from '../model/model.ts'
import type { Versioned } from '../reads/versions.ts'
import type { Unit } from './commit.ts'

/** The last of what was committed of one project, without a gap. */
interface Tail {
  /** The version before the first of them, and the event that made it: up to then others may have happened. */
  from: number
  fromEventId: string
  events: StoredEvent[]
  /** What each of them weighs. */
  weights: number[]
  at: number
}

/** A version of a project: after a standby took over, another event may have made one of the same number. */
export type Made = Pick<Versioned, 'version' | 'lastEventId'>

/** Events after a seq, and the one that stands there, where it is known, up to another. */
interface Asked {
  projectId: string
  after: number
  afterId?: string | undefined
  upTo: number
}

/** How long it may be told without looking at the database again, as long as tokens are believed. */
const freshMs = 500
/** Of one project, and the weight of all together: beyond it all is forgotten. */
const mostEvents = 500
const mostBytes = 16_777_216
/** What is told at once, but for a single event that is longer. */
const bytesAtOnce = 262_144

/**
 * What this process has just committed of projects that somebody follows here, so that they need not read it back. Only
 * what changes nobody's rights: who might see all before it may see it too.
 */
export class Recent {
  private readonly tails = new Map<string, Tail>()
  private bytes = 0

  constructor(
    private readonly isFollowed: (projectId: string) => boolean,
    private readonly now = () => performance.now(),
  ) {}

  /** Takes in what stands for certain. */
  add({ heads, events }: Pick<Unit, 'heads' | 'events'>): void {
    for (const head of heads) {
      const { projectId, expected, expectedEventId } = head
      if (!this.isFollowed(projectId)) this.forget(projectId)
      else {
        const own = heads.length > 1 ? events.filter((event) => event.projectId === projectId) : events
        const tail = this.tailAt(projectId, { version: expected, lastEventId: expectedEventId })
        if (own.every(isPlain)) this.append(tail, own)
        else this.tailAt(projectId, head)
      }
    }
    if (this.bytes > mostBytes) this.forgetAll()
  }

  /** The events after a seq, up to another or fewer; none where they are not all known, or another one stands there. */
  after(range: Asked): StoredEvent[] | undefined {
    const tail = this.fresh(range.projectId)
    if (!tail || range.after < tail.from || range.after >= endOf(tail).version) return undefined
    if (range.afterId !== undefined && eventAt(tail, range.after) !== range.afterId) return undefined
    const first = range.after - tail.from
    const most = Math.min(range.upTo - tail.from, tail.events.length)
    let end = first
    for (let bytes = 0; end < most && bytes < bytesAtOnce; end++) bytes += tail.weights[end]!
    return tail.events.slice(first, end)
  }

  /** The version up to which nobody's rights have changed since another; none where that is not known. */
  plainSince(projectId: string, since: Made): Made | undefined {
    const tail = this.fresh(projectId)
    return tail && eventAt(tail, since.version) === since.lastEventId ? endOf(tail) : undefined
  }

  /** The tail that ends with a version: an empty one, where none does. */
  private tailAt(projectId: string, { version, lastEventId }: Made): Tail {
    const known = this.tails.get(projectId)
    const end = known && endOf(known)
    if (end?.version === version && end.lastEventId === lastEventId) return known!
    this.forget(projectId)
    const tail = { from: version, fromEventId: lastEventId, events: [], weights: [], at: 0 }
    this.tails.set(projectId, tail)
    return tail
  }

  private append(tail: Tail, events: StoredEvent[]): void {
    tail.at = this.now()
    for (const event of events) {
      const weight = weigh(event)
      tail.events.push(event)
      tail.weights.push(weight)
      this.bytes += weight
    }
    this.drop(tail, tail.events.length - mostEvents)
  }

  private drop(tail: Tail, count: number): void {
    if (count <= 0) return
    tail.fromEventId = tail.events.splice(0, count).at(-1)!.id
    tail.from += count
    for (const weight of tail.weights.splice(0, count)) this.bytes -= weight
  }

  private fresh(projectId: string): Tail | undefined {
    const tail = this.tails.get(projectId)
    return tail && this.now() - tail.at < freshMs ? tail : undefined
  }

  private forget(projectId: string): void {
    const tail = this.tails.get(projectId)
    if (!tail) return
    this.drop(tail, tail.events.length)
    this.tails.delete(projectId)
  }

  private forgetAll(): void {
    this.tails.clear()
    this.bytes = 0
  }
}

/** The event that made a version. */
const eventAt = ({ from, fromEventId, events }: Tail, version: number): string | undefined =>
  version === from ? fromEventId : events[version - from - 1]?.id

const endOf = ({ from, fromEventId, events }: Tail): Made => ({
  version: from + events.length,
  lastEventId: events.at(-1)?.id ?? fromEventId,
})

/** What comes with a task that moves in may be more than there is room for. */
const isPlain = ({ entity, type }: StoredEvent): boolean =>
  entity !== 'project' && entity !== 'member' && type !== 'task.moved_in'

/** About how much memory it takes: its texts two bytes a character. */
const weigh = ({ entity, before, after }: StoredEvent): number =>
  2_000 + 2 * (lengthOf(entity, before ?? {}) + lengthOf(entity, after ?? {}))
