import { LRUCache } from 'lru-cache'
import type { MemberRow, ProjectRow } from '../../drizzle/rows.ts'
import type { ProjectVersion } from '../subscriptions/notifications.ts'
import type { StoredEvent } from '../model/events.ts'
import { textLength } from '../model/model.ts'
import type { NextCommit, VersionRef } from '../reads/versions.ts'
import type { CommitUnit } from './unit.ts'

/** The last committed events of one project, without a gap. */
interface RecentEvents {
  /** The version before the first event, and the event that made this version. */
  from: number
  fromEventId: string
  events: StoredEvent[]
  bytes: number
}

/** The events with a seq in `(after, upTo]`. `afterId` is the expected id of the event at `after`. */
interface EventRange {
  projectId: string
  after: number
  afterId?: string | undefined
  upTo: number
}

/** Events are read from memory for this long after the last commit. Token checks are cached for the same time. */
const maxAgeMs = 500
/** If a project has this many events in memory, its next commit replaces them. */
const maxEvents = 500
/** The maximum for all projects together. */
const maxBytes = 16_777_216
/** The maximum number of bytes that one call returns. A larger event is returned as the only event. */
const maxBytesReturned = 262_144

/**
 * The latest events of projects with streams in this process. Does not store events that may change who can read the
 * project.
 */
export class RecentCommits {
  private readonly recent: LRUCache<string, RecentEvents>

  constructor(
    private readonly isFollowed: (projectId: string) => boolean,
    now = () => performance.now(),
  ) {
    const fresh = { ttl: maxAgeMs, ttlResolution: 0, noDeleteOnStaleGet: true, perf: { now } }
    this.recent = new LRUCache({ maxSize: maxBytes, ...fresh })
  }

  add({ heads, events }: Pick<CommitUnit, 'heads' | 'events'>): void {
    for (const { projectId, expected, expectedEventId } of heads) {
      const own = heads.length > 1 ? events.filter((event) => event.projectId === projectId) : events
      if (this.isFollowed(projectId) && own.every(keepsRights))
        this.append(projectId, { version: expected, lastEventId: expectedEventId }, own)
      else if (this.recent.size > 0) this.recent.delete(projectId)
    }
  }

  /** The events of a range, up to `maxBytesReturned`; undefined unless all are stored and follow the expected event. */
  after({ projectId, after, afterId, upTo }: EventRange): StoredEvent[] | undefined {
    const tail = this.recent.get(projectId)
    if (!tail || after < tail.from || after >= endOf(tail).version) return undefined
    if (afterId !== undefined && eventAt(tail, after) !== afterId) return undefined
    const first = after - tail.from
    const max = Math.min(upTo - tail.from, tail.events.length)
    let end = first
    for (let bytes = 0; end < max && bytes < maxBytesReturned; end++) bytes += bytesOf(tail.events[end]!)
    return tail.events.slice(first, end)
  }

  sameRightsSince(projectId: string, since: VersionRef): VersionRef | undefined {
    const tail = this.recent.get(projectId)
    return tail && eventAt(tail, since.version) === since.lastEventId ? endOf(tail) : undefined
  }

  private append(projectId: string, { version, lastEventId }: VersionRef, more: StoredEvent[]): void {
    const previous = this.recent.get(projectId, { allowStale: true })
    const end = previous && endOf(previous)
    const isNext = end?.version === version && end.lastEventId === lastEventId
    const isKept = isNext && previous!.events.length < maxEvents
    // A new object, because the cache measures each object only once.
    const tail = isKept ? { ...previous! } : { from: version, fromEventId: lastEventId, events: [], bytes: 0 }
    tail.events.push(...more)
    for (const event of more) tail.bytes += bytesOf(event)
    this.recent.set(projectId, tail, { size: tail.bytes })
  }
}

const eventAt = ({ from, fromEventId, events }: RecentEvents, version: number): string | undefined =>
  version === from ? fromEventId : events[version - from - 1]?.id

const endOf = ({ from, fromEventId, events }: RecentEvents): VersionRef => ({
  version: from + events.length,
  lastEventId: events.at(-1)?.id ?? fromEventId,
})

/**
 * True if the event changes no rights and may stay in memory. The event of a moved-in task may be too large, because it
 * contains the task's children.
 */
const keepsRights = ({ entity, type }: StoredEvent): boolean =>
  entity !== 'project' && entity !== 'member' && type !== 'task.moved_in'

const bytesOf = ({ entity, before, after }: StoredEvent): number =>
  2_000 + 2 * (textLength(entity, before ?? {}) + textLength(entity, after ?? {}))

/** The projects that a commit changed, with the users to whom they became visible: a new owner or new members. */
export function changedProjects(
  { heads, events }: Pick<CommitUnit, 'heads' | 'events'>,
  next?: NextCommit,
): ProjectVersion[] {
  const additions = events.filter(
    ({ entity, before, after }) => !before && after && (entity === 'project' || entity === 'member'),
  )
  return heads.map(({ projectId, version }) => {
    const own = additions.filter((event) => event.projectId === projectId)
    const newMembers = own.map(
      ({ after }) => (after as Partial<ProjectRow>).ownerId ?? (after as MemberRow).userId,
    )
    return { projectId, version, newMembers, next }
  })
}
