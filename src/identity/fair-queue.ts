import { tooManyRequests, unavailable } from '../responses/errors.ts'

/** Where work comes from: both take turns, and each may have a bounded number of waiters. */
export interface Source {
  address: string
  account: string
}

/** The slots for work in progress, and the waiters of one address, of one account, and of all. */
type Bounds = Record<'slots' | 'perAddress' | 'perAccount' | 'total', number>

interface Waiter extends Source {
  /** The account at its address. */
  line: string
  start(): void
  reject(error: Error): void
}

/**
 * Runs a bounded amount of work at a time. Addresses take turns, and the accounts of an address: however much one of
 * them sends, the next turn of another is at most as many pieces of work away as there are addresses that wait.
 */
export class FairQueue {
  private busy = 0
  private waiters: Waiter[] = []
  /** The numbers of addresses and lines that wait: the lowest is the next, and its turn gives it another. */
  private readonly numbers = new Map<string, number>()
  private lastNumber = 0

  constructor(private readonly bounds: Bounds) {}

  get waiting(): number {
    return this.waiters.length
  }

  /** @throws HttpError 429 when too much of the address or the account waits, 503 when too much waits */
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
    const ofAddress = this.waiters.filter((other) => other.address === address).length
    const ofAccount = this.waiters.filter((other) => other.account === account).length
    if (ofAddress >= this.bounds.perAddress) throw tooManyRequests('sign-ins from this address wait')
    if (ofAccount >= this.bounds.perAccount) throw tooManyRequests('sign-ins to this account wait')
    if (this.waiting >= this.bounds.total) this.shorten(ofAddress)
    const line = `${address}\n${account}`
    for (const one of [address, line]) if (!this.numbers.has(one)) this.numbers.set(one, ++this.lastNumber)
    return new Promise((start, reject) => void this.waiters.push({ address, account, line, start, reject }))
  }

  /** Rejects the newest waiter of the address with the most, so that no number of its waiters keeps others out. */
  private shorten(newcomers: number): void {
    const byAddress = [...Map.groupBy(this.waiters, ({ address }) => address).values()]
    const longest = byAddress.reduce((a, b) => (b.length > a.length ? b : a))
    if (longest.length <= newcomers + 1) throw full()
    this.leave(longest.at(-1)!).reject(full())
  }

  private next(): void {
    if (this.waiting === 0) return void this.busy--
    const numberOf = (name: string) => this.numbers.get(name)!
    const order = (a: Waiter, b: Waiter) =>
      numberOf(a.address) - numberOf(b.address) || numberOf(a.line) - numberOf(b.line)
    const waiter = this.waiters.reduce((a, b) => (order(b, a) < 0 ? b : a))
    this.numbers.set(waiter.address, ++this.lastNumber).set(waiter.line, ++this.lastNumber)
    this.leave(waiter).start()
  }

  private leave(waiter: Waiter): Waiter {
    this.waiters = this.waiters.filter((other) => other !== waiter)
    if (!this.waiters.some(({ address }) => address === waiter.address)) this.numbers.delete(waiter.address)
    if (!this.waiters.some(({ line }) => line === waiter.line)) this.numbers.delete(waiter.line)
    return waiter
  }
}

const full = () => unavailable('Too many sign-ins wait')
