import { tooMany, unavailable } from '../wire/refusals.ts'

/** Where work comes from: both take turns, and each has a bounded number of places. */
export interface Source {
  address: string
  account: string
}

interface Bounds {
  /** Of work in progress. */
  slots: number
  /** Of work that waits: of one address, of one account, and of all. */
  perAddress: number
  perAccount: number
  total: number
}

interface Waiter {
  start(): void
  reject(error: Error): void
}

/** The waiters of one address, by account; the next account comes first. */
interface Line {
  size: number
  accounts: Map<string, Waiter[]>
}

/**
 * Runs a bounded amount of work at a time. Addresses take turns, and the accounts of an address: however much one of
 * them sends, the next turn of another is at most as many pieces of work away as there are addresses that wait.
 */
export class FairQueue {
  waiting = 0
  private busy = 0
  /** By address; the next one comes first. */
  private readonly lines = new Map<string, Line>()
  private readonly waitingOf = new Map<string, number>()

  constructor(private readonly bounds: Bounds) {}

  /** @throws Refusal 429 when too much of the address or the account waits, 503 when too much waits */
  async run<T>(source: Source, work: () => Promise<T>): Promise<T> {
    if (this.busy < this.bounds.slots) this.busy++
    else await this.turn(source)
    try {
      return await work()
    } finally {
      this.next()
    }
  }

  private turn({ address, account }: Source): Promise<void> {
    const line = this.lines.get(address) ?? { size: 0, accounts: new Map<string, Waiter[]>() }
    const ofAccount = this.waitingOf.get(account) ?? 0
    if (line.size >= this.bounds.perAddress) throw tooMany('sign-ins from this address wait')
    if (ofAccount >= this.bounds.perAccount) throw tooMany('sign-ins to this account wait')
    if (this.waiting >= this.bounds.total) this.shorten(line.size)
    return new Promise((start, reject) => {
      const waiters = line.accounts.get(account) ?? []
      waiters.push({ start, reject })
      line.accounts.set(account, waiters)
      line.size++
      this.lines.set(address, line)
      this.waitingOf.set(account, ofAccount + 1)
      this.waiting++
    })
  }

  /** Rejects the newest waiter of the longest line, so that no number of its waiters keeps others out. */
  private shorten(newcomers: number): void {
    const [address, line] = [...this.lines].reduce((a, b) => (b[1].size > a[1].size ? b : a))
    if (line.size <= newcomers + 1) throw full()
    const [account, waiters] = [...line.accounts].at(-1)!
    this.leave(address, line, account, waiters.pop()!).reject(full())
    if (waiters.length === 0) line.accounts.delete(account)
  }

  private next(): void {
    const [first] = this.lines
    if (!first) return void this.busy--
    const [address, line] = first
    const [account, waiters] = line.accounts.entries().next().value!
    const waiter = waiters.shift()!
    // Both go behind all others that wait.
    line.accounts.delete(account)
    if (waiters.length > 0) line.accounts.set(account, waiters)
    this.lines.delete(address)
    this.leave(address, line, account, waiter).start()
    if (line.size > 0) this.lines.set(address, line)
  }

  private leave(address: string, line: Line, account: string, waiter: Waiter): Waiter {
    this.waiting--
    if (--line.size === 0) this.lines.delete(address)
    const left = this.waitingOf.get(account)! - 1
    if (left > 0) this.waitingOf.set(account, left)
    else this.waitingOf.delete(account)
    return waiter
  }
}

const full = () => unavailable('Too many sign-ins wait')
