import type { Posted } from './work.ts'
import type { Leases } from '../lock/leases.ts'
import { Mailbox } from './mailbox.ts'
import type { State } from './state.ts'
import type { Pass } from './pass.ts'
import type { Holder } from './prepare.ts'
import { transact, type Transactor } from './transact.ts'

export interface ActorLimits {
  mailboxCommands: number
  batchCommands: number
  stateBytes: number
}

/** One project in this process: takes commands in order, one batch at a time. */
export class ProjectActor implements Holder {
  state: State | null = null
  usedAt = performance.now()
  private readonly mailbox: Mailbox
  private busy = false

  constructor(
    readonly projectId: string,
    private readonly by: Transactor,
    private readonly leases: Leases,
    private readonly pass: Pass,
    private readonly limits: ActorLimits,
  ) {
    this.mailbox = new Mailbox(limits.mailboxCommands)
  }

  get idle(): boolean {
    return !this.busy
  }

  get waiting(): number {
    return this.mailbox.size
  }

  /** About how much memory its warm state takes. */
  get bytes(): number {
    return this.state?.bytes ?? 0
  }

  /** @throws Refusal 503 when the mailbox is full. */
  post(posted: Posted): void {
    this.mailbox.put(posted)
    this.wake()
  }

  /** Runs `work` when its turn comes, with the lease held and no command under way. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.mailbox.put(() => work().then(resolve, reject))
    this.wake()
    return promise
  }

  private wake(): void {
    if (this.busy) return
    this.busy = true
    this.pass.add(this)
  }

  /** Decides what waits: in this very pass, when the project is leased and warm. */
  decide(): void {
    if (this.leases.holds(this.projectId)) this.take()
    else void this.lease().then(() => this.take())
  }

  private async lease(): Promise<void> {
    // A state from before somebody else's turn would only lose its commit.
    if (!(await this.leases.hold(this.projectId)) && this.state?.version) this.state = null
  }

  private take(): void {
    const next = this.mailbox.take(this.limits.batchCommands)
    const work = typeof next === 'function' ? next() : next && transact(this.by, [this], next)
    if (work) void work.then(() => this.goOn())
    else this.goOn()
  }

  private goOn(): void {
    if (this.bytes > this.limits.stateBytes) this.state?.forgetRows()
    if (this.mailbox.size > 0) return this.pass.add(this)
    this.busy = false
    this.leases.rest(this.projectId)
  }
}
