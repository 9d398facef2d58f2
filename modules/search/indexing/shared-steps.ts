import type { IsLate } from './moves.ts'
import type { Progress } from './step.ts'

type Step = (projectIds: string[], targets: Map<string, number>, isLate: IsLate) => Promise<Progress>

/** A project that a reader waits for. */
export interface WantedProject {
  projectId: string
  /** The version up to which the project is indexed. */
  target: number
  /** If true, the project waits for no other project. */
  isLate: boolean
  /** After this time of `performance.now`, the reader no longer waits. */
  endsAt: number
}

interface Outcome {
  /** True if the project needs another step. */
  isLeft: boolean
  /** True if the project waits for another project. */
  isHeld: boolean
  isFilling: boolean
}

interface Waiting extends WantedProject {
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

/** The most steps that also index projects which other projects wait for. */
const maxJoinedSteps = 10

/** Readers share steps, in the order of the calls. A project is in one step at a time. */
export class SharedSteps {
  private waiting: Waiting[] = []
  private readonly current = new Set<string>()
  private running = 0
  private isScheduled = false

  /** @param limits the most projects of a step, and the most steps at the same time */
  constructor(
    private readonly limits: { projects: number; slots: number },
    private readonly step: Step,
  ) {}

  get isIdle(): boolean {
    return this.running === 0 && this.waiting.length === 0
  }

  /** Runs the next step of a project. */
  next(wanted: WantedProject): Promise<Outcome> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    this.waiting.push({ ...wanted, resolve, reject })
    // After the I/O of this tick, so that concurrent readers share a step.
    if (!this.isScheduled) setImmediate(() => this.start())
    this.isScheduled = true
    return promise
  }

  private start(): void {
    this.isScheduled = false
    while (this.running < this.limits.slots) {
      const taken = this.take()
      if (taken.length === 0) return
      void this.run(taken)
    }
  }

  private take(): Waiting[] {
    const now = performance.now()
    const [over, waiting] = parted(this.waiting, ({ endsAt }) => endsAt <= now)
    for (const { resolve } of over) resolve({ isLeft: true, isHeld: false, isFilling: false })
    const projectIds = new Set<string>()
    for (const { projectId } of waiting)
      if (projectIds.size < this.limits.projects && !this.current.has(projectId)) projectIds.add(projectId)
    const [taken, later] = parted(waiting, ({ projectId }) => projectIds.has(projectId))
    this.waiting = later
    return taken
  }

  private async run(taken: Waiting[]): Promise<void> {
    const projectIds = new Set(taken.map(({ projectId }) => projectId))
    this.running++
    for (const projectId of projectIds) this.current.add(projectId)
    try {
      await runStep(this.step, taken, projectIds)
    } catch (error) {
      for (const { reject } of taken) reject(error)
    } finally {
      for (const projectId of projectIds) this.current.delete(projectId)
      this.running--
      this.start()
    }
  }
}

/** Indexes projects that wait for other projects together with these projects. */
async function runStep(step: Step, taken: Waiting[], projectIds: Set<string>): Promise<void> {
  const targets = new Map<string, number>()
  for (const { projectId, target } of taken)
    targets.set(projectId, Math.max(target, targets.get(projectId) ?? 0))
  const late = new Set(taken.filter(({ isLate }) => isLate).map(({ projectId }) => projectId))
  const isLate = (projectId: string) => late.has(projectId)
  const filling = new Set<string>()
  let left = new Set(projectIds)
  let held = new Set<string>()
  for (let n = 0; n === 0 || (n <= maxJoinedSteps && !left.isSubsetOf(projectIds)); n++) {
    const progress = await step([...left], targets, isLate)
    left = new Set(progress.left)
    held = new Set(progress.held)
    for (const projectId of progress.filling) filling.add(projectId)
    for (const { projectId, resolve } of taken)
      if (!left.has(projectId)) resolve({ isLeft: false, isHeld: false, isFilling: filling.has(projectId) })
  }
  for (const { projectId, resolve } of taken)
    resolve({ isLeft: true, isHeld: held.has(projectId), isFilling: filling.has(projectId) })
}

const parted = <T>(all: T[], isFirst: (one: T) => boolean): [T[], T[]] => [
  all.filter(isFirst),
  all.filter((one) => !isFirst(one)),
]
