import { LRUCache } from 'lru-cache'
import type { MemberRow, ProjectRow } from '../../drizzle/rows.ts'
import type { Moved } from '../subscriptions/hints.ts'
import type { StoredEvent } from '../model/events.ts'
import { lengthOf } from '../model/model.ts'
import type { Versioned } from '../reads/versions.ts'
import type { CommitUnit } from './unit.ts'

/** The last events that were committed of one project, without a gap. */
interface Tail {
  /** The version before the first of them, and the event that made it. */
  from: number
  fromEventId: string
  events: StoredEvent[]
  bytes: number
}

/** A version of a project: after a failover another event may have made the same number. */
export type Made = Pick<Versioned, 'version' | 'lastEventId'>

/** Events after a seq, and the event at this seq if it is known, up to another. */
interface Asked {
  projectId: string
  after: number
  afterId?: string | undefined
  upTo: number
}

/** How long events are used after the last commit without reading the database: as long as tokens are believed. */
const freshMs = 500
/** Of one project, and of all together. */
const mostEvents = 500
const mostBytes = 16_777_216
/** At most so many bytes are returned at once; a single longer event is returned alone. */
const bytesAtOnce = 262_144

/**
 * The last commits of this process to projects that have streams here, so that streams need not read them back. Only
 * events that change no rights: the same readers may see them.
 */
export class Recent {
  private readonly tails: LRUCache<string, Tail>

  constructor(
    private readonly isFollowed: (projectId: string) => boolean,
    now = () => performance.now(),
  ) {
    const fresh = { ttl: freshMs, ttlResolution: 0, noDeleteOnStaleGet: true, perf: { now } }
    this.tails = new LRUCache({ maxSize: mostBytes, ...fresh })
  }

  add({ heads, events }: Pick<CommitUnit, 'heads' | 'events'>): void {
    for (const { projectId, expected, expectedEventId } of heads) {
      const own = heads.length > 1 ? events.filter((event) => event.projectId === projectId) : events
      if (this.isFollowed(projectId) && own.every(isPlain))
        this.append(projectId, { version: expected, lastEventId: expectedEventId }, own)
      else this.tails.delete(projectId)
    }
  }

  /** The events after a seq, up to another or fewer; undefined unless all are known and follow the expected event. */
  after({ projectId, after, afterId, upTo }: Asked): StoredEvent[] | undefined {
    const tail = this.tails.get(projectId)
    if (!tail || after < tail.from || after >= endOf(tail).version) return undefined
    if (afterId !== undefined && eventAt(tail, after) !== afterId) return undefined
    const first = after - tail.from
    const most = Math.min(upTo - tail.from, tail.events.length)
    let end = first
    for (let bytes = 0; end < most && bytes < bytesAtOnce; end++) bytes += weigh(tail.events[end]!)
    return tail.events.slice(first, end)
  }

  /** The version up to which no rights have changed since another; undefined if that is not known. */
  plainSince(projectId: string, since: Made): Made | undefined {
    const tail = this.tails.get(projectId)
    return tail && eventAt(tail, since.version) === since.lastEventId ? endOf(tail) : undefined
  }

  private append(projectId: string, { version, lastEventId }: Made, more: StoredEvent[]): void {
    const known = this.tails.get(projectId, { allowStale: true })
    const end = known && endOf(known)
    const isNext = end?.version === version && end.lastEventId === lastEventId
    // Always another object: the cache measures no object twice.
    const tail = isNext ? { ...known! } : { from: version, fromEventId: lastEventId, events: [], bytes: 0 }
    tail.events.push(...more)
    tail.bytes += sizeOf(more)
    const dropped = tail.events.splice(0, tail.events.length - mostEvents)
    if (dropped.length > 0) {
      tail.from += dropped.length
      tail.fromEventId = dropped.at(-1)!.id
      tail.bytes -= sizeOf(dropped)
    }
    this.tails.set(projectId, tail, { size: tail.bytes })
  }
}

const sizeOf = (events: StoredEvent[]): number => events.reduce((sum, event) => sum + weigh(event), 0)

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

/** The projects that a commit moved, and the users whom it brought into them: it makes projects visible to those. */
export function movedBy({ heads, events }: Pick<CommitUnit, 'heads' | 'events'>): Moved[] {
  const coming = events.filter(bringsSomebody)
  if (coming.length === 0) return heads
  return heads.map(({ projectId, version }) => {
    const own = coming.filter((event) => event.projectId === projectId)
    return { projectId, version, comers: own.map(comerOf) }
  })
}

const bringsSomebody = ({ entity, before, after }: StoredEvent): boolean =>
  before === null && after !== null && (entity === 'project' || entity === 'member')

const comerOf = ({ entity, after }: StoredEvent): string =>
  entity === 'project' ? (after as ProjectRow).ownerId : (after as MemberRow).userId
