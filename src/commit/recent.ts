import type { StoredEvent } from '../facts/facts.ts'
import type { Unit } from './commit.ts'

/** The last of what was committed of one project, without a gap. */
interface Tail {
  /** The version before the first of them: up to then others may have happened. */
  from: number
  events: StoredEvent[]
  at: number
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
    for (const { projectId, expected, version } of heads) {
      if (!this.isFollowed(projectId)) this.forget(projectId)
      else {
        const own = heads.length > 1 ? events.filter((event) => event.projectId === projectId) : events
        this.goOn(projectId, expected, own.every(isPlain) ? own : null, version)
      }
    }
    if (this.bytes > mostBytes) this.forgetAll()
  }

  /** The events after a seq, up to another or fewer; none where they are not all known. */
  after(range: { projectId: string; after: number; upTo: number }): StoredEvent[] | undefined {
    const tail = this.fresh(range.projectId)
    if (!tail || range.after < tail.from || range.after >= endOf(tail)) return undefined
    let bytes = 0
    const hasRoom = (event: StoredEvent) => bytes < bytesAtOnce && (bytes += weigh(event))
    return untilNot(tail.events.slice(range.after - tail.from, range.upTo - tail.from), hasRoom)
  }

  /** The version up to which nobody's rights have changed since another; none where that is not known. */
  plainSince(projectId: string, version: number): number | undefined {
    const tail = this.fresh(projectId)
    return tail && tail.from <= version ? endOf(tail) : undefined
  }

  private goOn(projectId: string, expected: number, events: StoredEvent[] | null, version: number): void {
    const known = this.tails.get(projectId)
    const isNext = events !== null && known !== undefined && endOf(known) === expected
    if (!isNext) this.forget(projectId)
    const tail = isNext ? known : { from: events ? expected : version, events: [], at: 0 }
    tail.at = this.now()
    for (const event of events ?? []) this.bytes += weigh(event)
    tail.events.push(...(events ?? []))
    const dropped = tail.events.splice(0, tail.events.length - mostEvents)
    tail.from += dropped.length
    for (const event of dropped) this.bytes -= weigh(event)
    this.tails.set(projectId, tail)
  }

  private fresh(projectId: string): Tail | undefined {
    const tail = this.tails.get(projectId)
    return tail && this.now() - tail.at < freshMs ? tail : undefined
  }

  private forget(projectId: string): void {
    for (const event of this.tails.get(projectId)?.events ?? []) this.bytes -= weigh(event)
    this.tails.delete(projectId)
  }

  private forgetAll(): void {
    this.tails.clear()
    this.bytes = 0
  }
}

const endOf = ({ from, events }: Tail): number => from + events.length

/** What comes with a task that moves in may be more than there is room for. */
const isPlain = ({ entity, type }: StoredEvent): boolean =>
  entity !== 'project' && entity !== 'member' && type !== 'task.moved_in'

/** About how much memory it takes: its long texts two bytes a character. */
const weigh = ({ before, after }: StoredEvent): number => 2_000 + 2 * (longIn(before) + longIn(after))

function longIn(row: object | null): number {
  const { description, text } = (row ?? {}) as { description?: string | null; text?: string }
  return (description?.length ?? 0) + (text?.length ?? 0)
}

function untilNot<T>(all: T[], holds: (one: T) => unknown): T[] {
  const end = all.findIndex((one) => !holds(one))
  return end < 0 ? all : all.slice(0, end)
}
