import type { Config } from '../config.ts'
import type { Leases } from '../lock/leases.ts'
import { isOverloaded } from '../postgres/batch.ts'
import { unavailable } from '../responses/errors.ts'
import type { StateHolder } from './decide-batch.ts'
import type { QueuedCommand } from './queued-command.ts'
import type { State } from './state.ts'
import { transact, type TransactDependencies } from './transact.ts'

/** Work that runs while the actor runs no command, such as a commit of two projects. */
interface Exclusive {
  run: () => Promise<void>
  since: number
}

type Queue = (QueuedCommand | Exclusive)[]

/** The most commands in a batch that read the log: each may load thousands of rows. */
const maxLogReaders = 4

export const mailboxFull = () => unavailable('Too many writes wait for this project')

interface ActorHost {
  schedule(actor: ProjectActor): void
  commandsEnded(commands: QueuedCommand[]): void
}

/** The actor of one project: runs its commands in order, one batch at a time. */
export class ProjectActor implements StateHolder {
  state: State | null = null
  usedAt = performance.now()
  private readonly queue: Queue = []
  private busy = false
  private batch: QueuedCommand[] = []

  constructor(
    readonly projectId: string,
    private readonly dependencies: TransactDependencies,
    private readonly leases: Leases,
    private readonly host: ActorHost,
    private readonly config: Pick<Config, 'mailboxCommands' | 'commitEvents' | 'actorCacheBytes'>,
  ) {}

  get idle(): boolean {
    return !this.busy
  }

  get waiting(): number {
    return this.queue.length
  }

  get bytes(): number {
    return this.state?.bytes ?? 0
  }

  enqueue(item: QueuedCommand | Exclusive): void {
    const { queue, config } = this
    if (queue.length >= config.mailboxCommands || isOverloaded(queue)) throw mailboxFull()
    queue.push(item)
    this.usedAt = item.since
    if (this.busy) return
    this.busy = true
    this.host.schedule(this)
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
    if (this.leases.holds(this.projectId)) this.startNext()
    else void this.acquireLease().then(() => this.startNext())
  }

  private async acquireLease(): Promise<void> {
    // Another process had the lease, so a commit on the old state would conflict.
    if (!(await this.leases.acquire(this.projectId)) && this.state?.version) this.state = null
  }

  private startNext(): void {
    const next = takeFrom(this.queue, this.config.commitEvents)
    if ('run' in next) return void next.run().then(this.finishBatch)
    this.batch = next
    void transact(this.dependencies, [this], next).then(this.finishBatch)
  }

  private readonly finishBatch = (): void => {
    this.host.commandsEnded(this.batch)
    this.batch = []
    if (this.bytes > this.config.actorCacheBytes / 8) this.state?.unloadRows()
    if (this.queue.length > 0) return this.host.schedule(this)
    this.busy = false
    this.leases.markIdle(this.projectId)
  }
}

export function takeFrom(queue: Queue, maxWrites: number): QueuedCommand[] | Exclusive {
  if (queue[0] && 'run' in queue[0]) return queue.shift() as Exclusive
  let [count, weight, logReaders] = [0, 0, 0]
  for (const item of queue) {
    if ('run' in item) break
    weight += item.weight ?? 1
    if (item.preload?.undo) logReaders++
    if (count > 0 && (weight > maxWrites || logReaders > maxLogReaders)) break
    count++
  }
  return queue.splice(0, count) as QueuedCommand[]
}
