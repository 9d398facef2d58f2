import { LRUCache } from 'lru-cache'
import type { Versioned } from './versions.ts'

type Made = Pick<Versioned, 'version' | 'lastEventId'>
interface Committed {
  heads: (Made & { expected: number; expectedEventId: string })[]
  events: { entity: string; entityId: string; before: object | null }[]
}
/** The commit directly after an event of its project, and the existing tasks that it changed. */
type Step = Made & { tasks: string[] }

const mostIds = 200_000 // about 20 MB
const mostTasks = 100
const mostTaken = 100

/** The last commits of this process: what was seen before a commit that changes other things and no rights still holds. */
export class OwnSteps {
  private readonly steps = new LRUCache<string, Step>({
    maxSize: mostIds,
    sizeCalculation: ({ tasks }) => 2 + tasks.length,
  })

  /** @param isTarget whether rows refer to rows of an entity: their views depend on those */
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
    if (tasks.length <= mostTasks) this.steps.set(expectedEventId, { version, lastEventId, tasks })
  }

  /** What was seen of a project or of a task, by its id, at the last version up to which it holds. */
  readonly follow = <S extends Versioned>(seen: S, id: string): S => {
    let last: Step | undefined
    for (let count = 0; count < mostTaken; count++) {
      const next = this.steps.get(last?.lastEventId ?? seen.lastEventId)
      if (!next || next.tasks.includes(id)) break
      last = next
    }
    return last ? { ...seen, version: last.version, lastEventId: last.lastEventId } : seen
  }
}
