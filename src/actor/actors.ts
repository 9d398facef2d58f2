import type { Config } from '../config.ts'
import { within } from '../within.ts'
import { tooLate, unavailable } from '../wire/refusals.ts'
import { isId, newId } from '../ids.ts'
import type { Posted, Work } from './work.ts'
import type { Leases } from '../lock/leases.ts'
import { Pass } from './pass.ts'
import { ProjectActor } from './project-actor.ts'
import { State } from './state.ts'
import { transact, type Transactor } from './transact.ts'

const tidyEveryMs = 250

/** The projects this process writes, each behind its actor. */
export class Actors {
  private readonly actors = new Map<string, ProjectActor>()
  /** What is not answered yet. */
  private readonly open = new Set<Posted>()
  private readonly pass = new Pass()
  isClosing = false
  private emptied: (() => void) | null = null
  private readonly tidying: ReturnType<typeof setInterval>

  constructor(
    private readonly by: Transactor,
    private readonly leases: Leases,
    private readonly config: Config,
  ) {
    this.tidying = setInterval(() => {
      this.refuseLate()
      this.tidy()
    }, tidyEveryMs)
  }

  /**
   * Does a piece of work and gives its answer once it is durable.
   * @param deadline when to give up, on the clock of performance.now()
   * @throws Refusal what the rule refused, or 503 when too much waits or the deadline passes.
   */
  run<T>(work: Work<T>, deadline: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // What cannot be an id names a project that is not there: the rule says so in its own words.
      if (!isId(work.projectId)) return resolve(decideOnNothing(work))
      if (this.isClosing) throw unavailable('The service is shutting down')
      if (deadline <= performance.now()) throw tooLate()
      if (this.open.size >= this.config.waitingCommands) throw unavailable('Too many writes wait')
      const posted = { work, deadline } as Posted
      posted.resolve = (answer) => {
        this.done(posted)
        resolve(answer as T)
      }
      posted.reject = (reason) => {
        this.done(posted)
        reject(reason)
      }
      this.post(posted)
      this.open.add(posted)
    })
  }

  private done(posted: Posted): void {
    this.open.delete(posted)
    if (this.open.size === 0) this.emptied?.()
  }

  /** The project's state in memory, which may be out of date. */
  stateOf(projectId: string): State | null | undefined {
    return this.actors.get(projectId)?.state
  }

  /** How much there is to do here, and how much is kept in mind. */
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
    if (this.open.size > 0) {
      const empty = new Promise<void>((resolve) => (this.emptied = resolve))
      await within(timeoutMs, empty)
    }
    clearInterval(this.tidying)
    await this.leases.close()
  }

  private post(posted: Posted): void {
    const { projectId, otherProjectId, opens } = posted.work
    if (otherProjectId && otherProjectId !== projectId) this.postToBoth(posted, [projectId, otherProjectId])
    else this.actorOf(projectId, opens).post(posted)
  }

  /**
   * One commit over two actors: both are held, always the lower id first, so that no two moves deadlock. The first one waits
   * for the other no longer than the caller does.
   */
  private postToBoth(posted: Posted, projectIds: [string, string]): void {
    const [firstId, secondId] = projectIds.sort() as [string, string]
    const first = this.actorOf(firstId)
    const withFirst = async () => {
      const second = this.actorOf(secondId) // not before: until it has work it may be forgotten
      let [hasBegun, isLate] = [false, false]
      const done = second.exclusively(async () => {
        hasBegun = !isLate
        if (isLate) return
        await transact(this.by, [first, second], [posted])
      })
      await within(posted.deadline - performance.now(), done)
      isLate = !hasBegun
      if (hasBegun) await done
    }
    first.exclusively(withFirst).catch(posted.reject)
  }

  private actorOf(projectId: string, opens = false): ProjectActor {
    const known = this.actors.get(projectId)
    if (known) {
      known.usedAt = performance.now()
      this.actors.delete(projectId)
      this.actors.set(projectId, known) // most recently used last
      return known
    }
    const { mailboxCommands, commitEvents } = this.config
    const limits = {
      mailboxCommands,
      batchCommands: commitEvents,
      stateBytes: this.config.actorCacheBytes / 8,
    }
    const actor = new ProjectActor(projectId, this.by, this.leases, this.pass, limits)
    if (opens) actor.state = new State(projectId)
    this.actors.set(projectId, actor)
    return actor
  }

  /** A commit under way may take its time: whoever waits for it is told in time that nobody knows. */
  private refuseLate(): void {
    const now = performance.now()
    for (const { deadline, reject } of this.open) {
      if (deadline <= now) reject(tooLate())
    }
  }

  /** Forgets what rested for a while, and before that what was used longest ago when all together is too much. */
  private tidy(): void {
    let bytes = 0
    for (const actor of this.actors.values()) bytes += actor.bytes
    const stale = performance.now() - this.config.actorIdleMs
    for (const [id, actor] of this.actors) {
      const tooMuch = this.actors.size > this.config.actors || bytes > this.config.actorCacheBytes
      if (!tooMuch && actor.usedAt > stale) return
      if (!actor.idle) continue
      this.actors.delete(id)
      bytes -= actor.bytes
    }
  }
}

function decideOnNothing<T>({ projectId, caller, decide }: Work<T>): T {
  const nothing = new State(projectId)
  const context = { caller, now: new Date().toISOString(), newId, newEventId: newId }
  return decide(nothing, context, nothing).answer
}
