import { LRUCache } from 'lru-cache'
import type { Versioned } from './versions.ts'

type VersionEvent = Pick<Versioned, 'version' | 'lastEventId'>
interface Committed {
  heads: (VersionEvent & { expected: number; expectedEventId: string })[]
  events: { entity: string; entityId: string; before: object | null }[]
}
/** The first commit after an event: the new version, and the ids of the tasks that the commit changed or deleted. */
type NextCommit = VersionEvent & { tasks: string[] }

/** About 20 MB. */
const maxIds = 200_000
const maxTasks = 100
const maxCommitsAdvanced = 100

/**
 * The latest commits of this process. A result that was read before such a commit stays valid, unless the commit
 * changed the same task, a role, or an entity that other rows refer to.
 */
export class LocalCommits {
  private readonly commits = new LRUCache<string, NextCommit>({
    maxSize: maxIds,
    sizeCalculation: ({ tasks }) => 2 + tasks.length,
  })

  constructor(private readonly isTarget: (entity: string) => boolean = () => false) {}

  add({ heads, events }: Committed): void {
    const [head, other] = heads
    if (!head || other || head.expected === 0) return
    const { expectedEventId, version, lastEventId } = head
    const tasks: string[] = []
    for (const { entity, entityId, before } of events) {
      if (entity === 'project' || entity === 'member' || this.isTarget(entity)) return
      if (entity === 'task' && before) tasks.push(entityId)
    }
    if (tasks.length <= maxTasks) this.commits.set(expectedEventId, { version, lastEventId, tasks })
  }

  /** Returns the result with the latest version for which it is valid. `id` is the project or task looked up. */
  readonly advance = <S extends Versioned>(seen: S, id: string): S => {
    let last: NextCommit | undefined
    for (let count = 0; count < maxCommitsAdvanced; count++) {
      const next = this.commits.get(last?.lastEventId ?? seen.lastEventId)
      if (!next || next.tasks.includes(id)) break
      last = next
    }
    return last ? { ...seen, version: last.version, lastEventId: last.lastEventId } : seen
  }
}
