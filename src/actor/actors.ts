import type { Config } from '../config.ts'
import { within } from '../within.ts'
import { unavailable, writeTimedOut } from '../responses/errors.ts'
import { type QueuedCommand, rejectLate } from './queued-command.ts'
import type { Leases } from '../lock/leases.ts'
import { ProjectActor } from './project-actor.ts'
import { State } from './state.ts'
import { transact, type TransactDependencies } from './transact.ts'

const evictEveryMs = 250

export class Actors {
  private readonly actors = new Map<string, ProjectActor>()
  private readonly pending = new Set<QueuedCommand>()
  private ready: ProjectActor[] = []
  isClosing = false
  private onDrained: (() => void) | null = null
  private readonly timer: ReturnType<typeof setInterval>

  constructor(
    private readonly dependencies: TransactDependencies,
    private readonly leases: Leases,
    private readonly config: Config,
  ) {
    this.timer = setInterval(() => {
      this.rejectExpired()
      this.evict()
    }, evictEveryMs)
  }

  /** Returns the command's reply once its commit is durable. @throws HttpError also 503 if too many commands wait */
  run<T>(command: QueuedCommand<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const now = performance.now()
      if (this.isClosing) throw unavailable('The service is shutting down')
      if (command.deadline <= now) throw writeTimedOut()
      if (this.pending.size >= this.config.waitingCommands) throw unavailable('Too many writes wait')
      command.resolve = resolve
      command.reject = reject
      command.since = now
      this.enqueue(command as QueuedCommand)
      this.pending.add(command as QueuedCommand)
    })
  }

  /** The project's state in memory, which may be out of date; undefined or null if none is loaded. */
  stateOf(projectId: string): State | null | undefined {
    return this.actors.get(projectId)?.state
  }

  load() {
    let [deepest, stateBytes] = [0, 0]
    for (const actor of this.actors.values()) {
      deepest = Math.max(deepest, actor.waiting)
      stateBytes += actor.bytes
    }
    const { actors, pending, leases } = this
    return { known: actors.size, waiting: pending.size, deepest, stateBytes, leases: leases.size }
  }

  /** Rejects new commands, waits at most `timeoutMs` for the accepted ones, and releases the leases. */
  async close(timeoutMs: number): Promise<void> {
    this.isClosing = true
    if (this.pending.size > 0)
      await within(timeoutMs, new Promise<void>((resolve) => (this.onDrained = resolve)))
    clearInterval(this.timer)
    await this.leases.close()
  }

  /** Starts the next batch after this event-loop iteration, so that commands that arrive together share a commit. */
  schedule(actor: ProjectActor): void {
    if (this.ready.push(actor) === 1) setImmediate(this.decideAll)
  }

  commandsEnded(commands: QueuedCommand[]): void {
    for (const command of commands) this.pending.delete(command)
    if (this.pending.size === 0) this.onDrained?.()
  }

  private readonly decideAll = (): void => {
    const actors = this.ready
    this.ready = []
    for (const actor of actors) actor.decide()
  }

  private enqueue(command: QueuedCommand): void {
    const { projectId, destinationId, createsProject } = command
    if (destinationId && destinationId !== projectId) this.enqueueMove(command, [projectId, destinationId])
    else this.actorOf(projectId, createsProject).enqueue(command)
  }

  /** Commits a move with both actors. Reserves the actor with the lower id first, so that two moves cannot deadlock. */
  private enqueueMove(command: QueuedCommand, projectIds: [string, string]): void {
    const [firstId, secondId] = projectIds.sort() as [string, string]
    const first = this.actorOf(firstId)
    const withFirst = async () => {
      // Finds the second actor only now: while the first actor was busy, an idle second actor could be evicted.
      const second = this.actorOf(secondId)
      let [hasBegun, isLate] = [false, false]
      const done = second.runAlone(async () => {
        hasBegun = !isLate
        if (isLate) return
        await transact(this.dependencies, [first, second], [command])
      })
      await within(command.deadline - performance.now(), done)
      isLate = !hasBegun
      if (hasBegun) await done
      else rejectLate(command)
    }
    const done = first.runAlone(withFirst).catch(command.reject)
    void done.then(() => this.commandsEnded([command]))
  }

  private actorOf(projectId: string, createsProject = false): ProjectActor {
    const existing = this.actors.get(projectId)
    if (existing) return existing
    const actor = new ProjectActor(projectId, this.dependencies, this.leases, this, this.config)
    if (createsProject) actor.state = new State(projectId)
    this.actors.set(projectId, actor)
    return actor
  }

  private rejectExpired(): void {
    const now = performance.now()
    for (const command of this.pending) {
      if (command.deadline > now) continue
      rejectLate(command)
      this.commandsEnded([command])
    }
  }

  private evict(): void {
    let bytes = 0
    const stale = performance.now() - this.config.actorIdleMs
    for (const [id, actor] of this.actors)
      if (actor.idle && actor.usedAt <= stale) this.actors.delete(id)
      else bytes += actor.bytes
    const isTooMuch = () => this.actors.size > this.config.actors || bytes > this.config.actorCacheBytes
    if (!isTooMuch()) return
    const idle = [...this.actors.values()].filter((actor) => actor.idle)
    for (const actor of idle.sort((a, b) => a.usedAt - b.usedAt)) {
      if (!isTooMuch()) return
      this.actors.delete(actor.projectId)
      bytes -= actor.bytes
    }
  }
}
