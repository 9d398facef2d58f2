import type { Config } from '../config.ts'
import type { Leases } from '../lock/leases.ts'
import { isOverloaded } from '../postgres/grouped.ts'
import { unavailable, writeTimedOut } from '../responses/errors.ts'
import { within } from '../waits.ts'
import { type StatefulActor, type QueuedCommand, rejectLate } from './decide-group.ts'
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
    readonly dependencies: TransactDependencies,
    readonly leases: Leases,
    readonly config: Config,
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
    let deepest = 0
    for (const actor of this.actors.values()) deepest = Math.max(deepest, actor.queue.length)
    const { actors, pending, leases } = this
    return { known: actors.size, waiting: pending.size, deepest, leases: leases.size }
  }

  /** Rejects new commands, waits at most `timeoutMs` for the accepted ones, and releases the leases. */
  async close(timeoutMs: number): Promise<void> {
    this.isClosing = true
    if (this.pending.size > 0)
      await within(timeoutMs, new Promise<void>((resolve) => (this.onDrained = resolve)))
    clearInterval(this.timer)
    await this.leases.close()
  }

  /** Starts the next group after this event-loop iteration, so that commands that arrive together share a commit. */
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
      let isLate = false
      let moved: Promise<void> | undefined
      const done = second.runAlone(async () => {
        // A timer may fire before the deadline. The first actor does not wait for a transaction that begins later.
        if (!isLate) await (moved = transact(this.dependencies, [first, second], [command]))
      })
      await within(command.deadline - performance.now(), done)
      isLate = true
      await moved
      // Without effect if the move has ended in time: its command has a reply.
      rejectLate(command)
    }
    const done = first.runAlone(withFirst).catch(command.reject)
    void done.then(() => this.commandsEnded([command]))
  }

  private actorOf(projectId: string, createsProject = false): ProjectActor {
    const existing = this.actors.get(projectId)
    if (existing) return existing
    const actor = new ProjectActor(projectId, this)
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
      if (!actor.isBusy && actor.usedAt <= stale) this.actors.delete(id)
      else bytes += actor.bytes
    const { actors: maxActors, actorCacheBytes } = this.config
    const isTooMuch = () => this.actors.size > maxActors || bytes > actorCacheBytes
    if (!isTooMuch()) return
    const idle = [...this.actors.values()].filter((actor) => !actor.isBusy)
    idle.sort((a, b) => a.usedAt - b.usedAt)
    // Creates fill a state with tasks that no later command may need, but each command needs the rest of the state.
    for (const { state } of idle) if (state && bytes > actorCacheBytes) bytes -= state.unloadRows()
    for (const actor of idle) {
      if (!isTooMuch()) return
      this.actors.delete(actor.projectId)
      bytes -= actor.bytes
    }
  }
}

/** Work that runs while the actor runs no command, such as a commit of two projects. */
interface Exclusive {
  run: () => Promise<void>
  since: number
}

type Queue = (QueuedCommand | Exclusive)[]

export const mailboxFull = () => unavailable('Too many writes wait for this project')

/** The actor of one project: runs its commands in order, one group at a time. */
class ProjectActor implements StatefulActor {
  state: State | null = null
  usedAt = performance.now()
  isBusy = false
  readonly queue: Queue = []
  private group: QueuedCommand[] = []

  constructor(
    readonly projectId: string,
    private readonly host: Actors,
  ) {}

  get bytes(): number {
    return this.state?.bytes ?? 0
  }

  enqueue(item: QueuedCommand | Exclusive): void {
    const { queue, host } = this
    if (queue.length >= host.config.mailboxCommands || isOverloaded(queue)) throw mailboxFull()
    queue.push(item)
    this.usedAt = item.since
    if (this.isBusy) return
    this.isBusy = true
    host.schedule(this)
  }

  /** Queues `work`. It runs when the actor holds the lease and no command is in progress. */
  runAlone(work: () => Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const run = () => work().then(() => resolve(), reject)
      this.enqueue({ run, since: performance.now() })
    })
  }

  /** Decides the queued commands synchronously if the lease is held and the state is loaded. */
  decide(): void {
    const { leases } = this.host
    if (leases.holds(this.projectId)) return this.startNext()
    void leases.acquire(this.projectId).then((isUntouched) => {
      // Another process had the lease, so a commit on the old state would conflict.
      if (!isUntouched && this.state?.version) this.state = null
      this.startNext()
    })
  }

  private startNext(): void {
    const next = takeGroup(this.queue, this.host.config.commitEvents)
    if ('run' in next) return void next.run().then(this.finishGroup)
    this.group = next
    void transact(this.host.dependencies, [this], next).then(this.finishGroup)
  }

  private readonly finishGroup = (): void => {
    this.host.commandsEnded(this.group)
    this.group = []
    if (this.bytes > this.host.config.actorCacheBytes / 8) this.state!.unloadRows()
    if (this.queue.length > 0) return this.host.schedule(this)
    this.isBusy = false
    this.host.leases.markIdle(this.projectId)
  }
}

/** An undo has a group of its own, because it compares the project's log with the state. */
export function takeGroup(queue: Queue, maxWrites: number): QueuedCommand[] | Exclusive {
  if (queue[0] && 'run' in queue[0]) return queue.shift() as Exclusive
  let [count, weight] = [0, 0]
  for (const item of queue) {
    if ('run' in item) break
    weight += item.preload?.undo ? maxWrites : (item.weight ?? 1)
    if (count > 0 && weight > maxWrites) break
    count++
  }
  return queue.splice(0, count) as QueuedCommand[]
}
