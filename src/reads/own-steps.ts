import type { Versioned } from './versions.ts'

interface Committed {
  heads: (Pick<Versioned, 'version' | 'lastEventId'> & { expected: number; expectedEventId: string })[]
  events: { entity: string; entityId: string; before: object | null }[]
}

/** The commit that came directly after an event of its project. */
interface Step {
  version: number
  lastEventId: string
  /** The tasks that it changed, of those there were. */
  tasks: string[] | undefined
}

/** Ids that are kept in mind, at most twice as many: about 20 MB. */
const mostIds = 100_000
/** Tasks of a step, and steps taken at once. */
const mostTasks = 100
const mostTaken = 100

/**
 * What this process itself committed of late: what was seen of a project before a commit that is about other things holds
 * after it too. Only where nobody's rights were changed: past all else everybody looks again.
 */
export class OwnSteps {
  private young = new Map<string, Step>()
  private old = new Map<string, Step>()
  private ids = 0

  /** @param isTarget whether rows refer to those of an entity: then what they show depends on those */
  constructor(private readonly isTarget: (entity: string) => boolean = () => false) {}

  /** Takes in what stands for certain. */
  add({ heads, events }: Committed): void {
    const [head, other] = heads
    if (!head || other || head.expected === 0) return
    const { expectedEventId, version, lastEventId } = head
    let tasks: string[] | undefined
    for (const { entity, entityId, before } of events) {
      if (entity === 'project' || entity === 'member' || this.isTarget(entity)) return
      if (entity === 'task' && before) (tasks ??= []).push(entityId)
    }
    const count = tasks?.length ?? 0
    if (count > mostTasks) return
    this.young.set(expectedEventId, { version, lastEventId, tasks })
    this.ids += 2 + count
    if (this.ids < mostIds) return
    this.old = this.young
    this.young = new Map()
    this.ids = 0
  }

  /** What was seen of a project, or of a task there, at the last version up to which it holds. */
  follow<S extends Versioned>(seen: S, taskId?: string): S {
    let last: Step | undefined
    for (let count = 0; count < mostTaken; count++) {
      const from: string = last?.lastEventId ?? seen.lastEventId
      const next = this.young.get(from) ?? this.old.get(from)
      if (!next || (taskId && next.tasks?.includes(taskId))) break
      last = next
    }
    return last ? { ...seen, version: last.version, lastEventId: last.lastEventId } : seen
  }
}
