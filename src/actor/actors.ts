import type { Config } from '../config.ts'
import { within } from '../within.ts'
import { writeTimedOut, unavailable } from '../responses/errors.ts'
import { Clock, isId, nilId } from '../ids.ts'
import type { QueuedCommand } from './queued-command.ts'
import type { Leases } from '../lock/leases.ts'
import { ProjectActor } from './project-actor.ts'
import { State } from './state.ts'
import { transact, type Transactor } from './transact.ts'

const tidyEveryMs = 250

/** The projects this process writes, each behind its actor. */
export class Actors {
  private readonly actors = new Map<string, ProjectActor>()
  private readonly open = new Set<QueuedCommand>()
  private ready: ProjectActor[] = []
  isClosing = false
  private emptied: (() => void) | null = null
  private readonly tidying: ReturnType<typeof setInterval>

  constructor(
    private readonly by: Transactor,
    private readonly leases: Leases,
    private readonly config: Config,
  ) {
    this.tidying = setInterval(() => {
      this.rejectLate()
      this.tidy()
    }, tidyEveryMs)
  }

  /**
   * Runs a command and returns its answer once it is durable.
   * @throws HttpError the rule's, or 503 when too many commands wait or the deadline passes.
   */
  run<T>(command: QueuedCommand<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // Text that is no id names a project that does not exist: the rule says so in its own words.
      if (!isId(command.projectId)) return resolve(decideOnNothing(command))
      const now = performance.now()
      if (this.isClosing) throw unavailable('The service is shutting down')
      if (command.deadline <= now) throw writeTimedOut()
      if (this.open.size >= this.config.waitingCommands) throw unavailable('Too many writes wait')
      command.resolve = resolve
      command.reject = reject
      command.since = now
      this.post(command as QueuedCommand)
      this.open.add(command as QueuedCommand)
    })
  }

  /** The project's state in memory, which may be out of date. */
  stateOf(projectId: string): State | null | undefined {
    return this.actors.get(projectId)?.state
  }

  load() {
    let [deepest, stateBytes] = [0, 0]
    for (const actor of this.actors.values()) {
      deepest = Math.max(deepest, actor.waiting)
      stateBytes += actor.bytes
    }
    const { actors, open, leases } = this
    return { known: actors.size, waiting: open.size, deepest, stateBytes, leases: leases.size }
  }

  /** Takes no more commands, waits for the accepted ones, at most `timeoutMs`, and gives the leases back. */
  async close(timeoutMs: number): Promise<void> {
    this.isClosing = true
    if (this.open.size > 0) await within(timeoutMs, new Promise<void>((resolve) => (this.emptied = resolve)))
    clearInterval(this.tidying)
    await this.leases.close()
  }

  /**
   * Has an actor decide at the end of this turn of the event loop, so that commands that arrived together are committed
   * together.
   */
  soon(actor: ProjectActor): void {
    if (this.ready.push(actor) === 1) setImmediate(this.decideAll)
  }

  ended(commands: QueuedCommand[]): void {
    for (const command of commands) this.open.delete(command)
    if (this.open.size === 0) this.emptied?.()
  }

  private readonly decideAll = (): void => {
    const actors = this.ready
    this.ready = []
    for (const actor of actors) actor.decide()
  }

  private post(command: QueuedCommand): void {
    const { projectId, otherProjectId, opens } = command
    if (otherProjectId && otherProjectId !== projectId) this.postToBoth(command, [projectId, otherProjectId])
    else this.actorOf(projectId, opens).post(command)
  }

  /**
   * One commit over two actors: both are held, always the lower id first, so that no two moves deadlock. The first one waits
   * for the other no longer than the caller does.
   */
  private postToBoth(command: QueuedCommand, projectIds: [string, string]): void {
    const [firstId, secondId] = projectIds.sort() as [string, string]
    const first = this.actorOf(firstId)
    const withFirst = async () => {
      const second = this.actorOf(secondId) // not before: an actor without work may be dropped
      let [hasBegun, isLate] = [false, false]
      const done = second.exclusively(async () => {
        hasBegun = !isLate
        if (isLate) return
        await transact(this.by, [first, second], [command])
      })
      await within(command.deadline - performance.now(), done)
      isLate = !hasBegun
      if (hasBegun) await done
      else command.reject(writeTimedOut())
    }
    const done = first.exclusively(withFirst).catch(command.reject)
    void done.then(() => this.ended([command]))
  }

  private actorOf(projectId: string, opens = false): ProjectActor {
    const known = this.actors.get(projectId)
    if (known) return known
    const actor = new ProjectActor(projectId, this.by, this.leases, this, this.config)
    if (opens) actor.state = new State(projectId)
    this.actors.set(projectId, actor)
    return actor
  }

  /** Rejects commands whose deadline passes while their commit is still under way. */
  private rejectLate(): void {
    const now = performance.now()
    for (const command of this.open) {
      if (command.deadline > now) continue
      command.reject(writeTimedOut())
      this.ended([command])
    }
  }

  /** Drops actors that have rested for a while, and the least recently used ones when together they are too much. */
  private tidy(): void {
    let bytes = 0
    const stale = performance.now() - this.config.actorIdleMs
    for (const [id, actor] of this.actors)
      if (actor.idle && actor.usedAt <= stale) this.actors.delete(id)
      else bytes += actor.bytes
    const isTooMuch = () => this.actors.size > this.config.actors || bytes > this.config.actorCacheBytes
    if (!isTooMuch()) return
    const resting = [...this.actors.values()].filter(({ idle }) => idle)
    for (const actor of resting.sort((a, b) => a.usedAt - b.usedAt)) {
      if (!isTooMuch()) return
      this.actors.delete(actor.projectId)
      bytes -= actor.bytes
    }
  }
}

function decideOnNothing<T>(command: QueuedCommand<T>): T {
  const nothing = new State(command.projectId)
  return command.decide(new Clock(nilId), nothing, nothing).answer
}
