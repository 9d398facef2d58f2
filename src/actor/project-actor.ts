import type { Config } from '../config.ts'
import type { Leases } from '../lock/leases.ts'
import { isOverloaded } from '../postgres/batch.ts'
import { unavailable } from '../responses/errors.ts'
import type { Holder } from './prepare.ts'
import type { QueuedCommand } from './queued-command.ts'
import type { State } from './state.ts'
import { transact, type Transactor } from './transact.ts'

/** Work that needs the actor for itself, such as a commit over two projects. */
interface Exclusive {
  run: () => Promise<void>
  since: number
}

type Queue = (QueuedCommand | Exclusive)[]

/** Commands of one batch that read the log, each of which may load thousands of rows. */
const maxLogReaders = 4

export const full = () => unavailable('Too many writes wait for this project')

interface Host {
  soon(actor: ProjectActor): void
  ended(commands: QueuedCommand[]): void
}

/** One project in this process: takes commands in order, one batch at a time. */
export class ProjectActor implements Holder {
  state: State | null = null
  usedAt = performance.now()
  private readonly queue: Queue = []
  private busy = false
  private batch: QueuedCommand[] = []

  constructor(
    readonly projectId: string,
    private readonly by: Transactor,
    private readonly leases: Leases,
    private readonly host: Host,
    private readonly config: Pick<Config, 'mailboxCommands' | 'commitEvents' | 'actorCacheBytes'>,
  ) {}

  get idle(): boolean {
    return !this.busy
  }

  get waiting(): number {
    return this.queue.length
  }

  /** About how much memory its warm state takes. */
  get bytes(): number {
    return this.state?.bytes ?? 0
  }

  /** @throws HttpError 503 when the queue is full, or so slow that an answer would come too late. */
  post(item: QueuedCommand | Exclusive): void {
    const { queue, config } = this
    if (queue.length >= config.mailboxCommands || isOverloaded(queue)) throw full()
    queue.push(item)
    this.usedAt = item.since
    if (this.busy) return
    this.busy = true
    this.host.soon(this)
  }

  /** Runs `work` when its turn comes, with the lease held and no command under way. */
  exclusively(work: () => Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const run = () => work().then(() => resolve(), reject)
      this.post({ run, since: performance.now() })
    })
  }

  /** Decides what waits: before this returns, when the project is leased and warm. */
  decide(): void {
    if (this.leases.holds(this.projectId)) this.take()
    else void this.lease().then(() => this.take())
  }

  private async lease(): Promise<void> {
    // A state from before another process's turn would only lose its commit.
    if (!(await this.leases.acquire(this.projectId)) && this.state?.version) this.state = null
  }

  private take(): void {
    const next = takeFrom(this.queue, this.config.commitEvents)
    if ('run' in next) return void next.run().then(this.goOn)
    this.batch = next
    void transact(this.by, [this], next).then(this.goOn)
  }

  private readonly goOn = (): void => {
    this.host.ended(this.batch)
    this.batch = []
    // One project has at most an eighth of the memory of all.
    if (this.bytes > this.config.actorCacheBytes / 8) this.state?.forgetRows()
    if (this.queue.length > 0) return this.host.soon(this)
    this.busy = false
    this.leases.markIdle(this.projectId)
  }
}

/** Takes the next work from a queue: commands that may share a commit, up to `most` writes, or one exclusive piece. */
export function takeFrom(queue: Queue, most: number): QueuedCommand[] | Exclusive {
  if (queue[0] && 'run' in queue[0]) return queue.shift() as Exclusive
  let [count, weight, logReaders] = [0, 0, 0]
  for (const item of queue) {
    if ('run' in item) break
    weight += item.weight ?? 1
    if (item.needs?.past) logReaders++
    if (count > 0 && (weight > most || logReaders > maxLogReaders)) break
    count++
  }
  return queue.splice(0, count) as QueuedCommand[]
}
