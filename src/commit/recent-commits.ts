import { LRUCache } from 'lru-cache'
import type { MemberRow, ProjectRow } from '../../drizzle/rows.ts'
import type { ProjectVersion } from '../subscriptions/notifications.ts'
import type { StoredEvent } from '../model/events.ts'
import { textLength } from '../model/model.ts'
import type { NextCommit, VersionRef } from '../reads/versions.ts'
import type { CommitUnit } from './unit.ts'

/** The events with a seq in `(after, upTo]`. `afterId` is the expected id of the event at `after`. */
interface EventRange {
  after: number
  afterId?: string | undefined
  upTo: number
}

/** Events are read from memory for this long after their commit. Token checks are cached for the same time. */
const maxAgeMs = 500
/** The maximum for all projects together. */
const maxBytes = 16_777_216
/** The maximum number of bytes that one call returns. A larger event is returned as the only event. */
const maxBytesReturned = 262_144

/**
 * The events of the latest commits of projects with streams in this process. Does not store events that may change who
 * can read the project.
 */
export class RecentCommits {
  /** The events of each commit, by the ids of the event before the commit and of its own events; none for the last. */
  private readonly commits: LRUCache<string, StoredEvent[]>

  constructor(
    private readonly isFollowed: (projectId: string) => boolean,
    now = () => performance.now(),
  ) {
    this.commits = new LRUCache({ maxSize: maxBytes, ttl: maxAgeMs, ttlResolution: 0, perf: { now } })
  }

  add({ heads, events }: Pick<CommitUnit, 'heads' | 'events'>): void {
    for (const { projectId, expectedEventId } of heads) {
      if (!this.isFollowed(projectId)) continue
      const own = heads.length > 1 ? events.filter((event) => event.projectId === projectId) : events
      if (!own.every(keepsRights)) continue
      const size = Math.ceil(own.reduce((sum, event) => sum + bytesOf(event), 0) / own.length)
      let before = expectedEventId
      for (const { id } of own) {
        this.commits.set(before, own, { size })
        before = id
      }
      this.commits.set(before, [], { size: 1 })
    }
  }

  /** The events after an event, up to `maxBytesReturned`; undefined if the next event is not stored. */
  after({ after, afterId, upTo }: EventRange): StoredEvent[] | undefined {
    const found: StoredEvent[] = []
    let bytes = 0
    for (const events of this.commitsAfter(afterId))
      for (const event of events) {
        if (event.seq <= after) continue
        if (event.seq > upTo || bytes >= maxBytesReturned) return found
        found.push(event)
        bytes += bytesOf(event)
      }
    return found.length > 0 ? found : undefined
  }

  /** The version after all stored commits that follow a version without a gap; undefined if the version is not stored. */
  sameRightsSince(since: VersionRef): VersionRef | undefined {
    let last: VersionRef | undefined
    for (const events of this.commitsAfter(since.lastEventId)) {
      const event = events.at(-1)
      last = event ? { version: event.seq, lastEventId: event.id } : (last ?? since)
    }
    return last
  }

  private *commitsAfter(eventId?: string): Generator<StoredEvent[]> {
    for (let last = eventId; last !== undefined;) {
      const events: StoredEvent[] | undefined = this.commits.get(last)
      if (events) yield events
      last = events?.at(-1)?.id
    }
  }
}

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
