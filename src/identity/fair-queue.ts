import { tooManyRequests, unavailable } from '../responses/errors.ts'

export interface Source {
  address: string
  account: string
}

/** `slots` limits the calls in progress; the other bounds limit the waiting calls. */
type Bounds = Record<'slots' | 'perAddress' | 'perAccount' | 'total', number>

interface Waiter extends Source {
  key: string
  start(): void
  reject(error: Error): void
}

/**
 * Runs at most `slots` functions at a time. Waiting addresses take turns, and the accounts of one address share its
 * turns equally. So the next call of an address waits for at most one call of each other address.
 */
export class FairQueue {
  private busy = 0
  private waiters: Waiter[] = []
  /** The turn of each waiting address or key: the lowest number runs next, and then gets a new, highest number. */
  private readonly numbers = new Map<string, number>()
  private lastNumber = 0

  constructor(private readonly bounds: Bounds) {}

  get waiting(): number {
    return this.waiters.length
  }

  /** @throws HttpError 429 if too many calls of the address or account wait; 503 if too many calls wait in total */
  async run<T>(source: Source, work: () => Promise<T>): Promise<T> {
    if (this.busy < this.bounds.slots) this.busy++
    else await this.wait(source)
    try {
      return await work()
    } finally {
      this.next()
    }
  }

  private wait({ address, account }: Source): Promise<void> {
    const ofAddress = this.waiters.filter((other) => other.address === address).length
    const ofAccount = this.waiters.filter((other) => other.account === account).length
    if (ofAddress >= this.bounds.perAddress) throw tooMany('from this address')
    if (ofAccount >= this.bounds.perAccount) throw tooMany('to this account')
    if (this.waiting >= this.bounds.total) this.rejectNewest(ofAddress)
    const key = `${address}\n${account}`
    for (const one of [address, key]) if (!this.numbers.has(one)) this.numbers.set(one, ++this.lastNumber)
    return new Promise((start, reject) => void this.waiters.push({ address, account, key, start, reject }))
  }

  /** Rejects the newest waiter of the address with the most waiters, so that one address cannot fill the queue. */
  private rejectNewest(newcomers: number): void {
    const byAddress = [...Map.groupBy(this.waiters, ({ address }) => address).values()]
    const longest = byAddress.reduce((a, b) => (b.length > a.length ? b : a))
    if (longest.length <= newcomers + 1) throw full()
    this.remove(longest.at(-1)!).reject(full())
  }

  private next(): void {
    if (this.waiting === 0) return void this.busy--
    const numberOf = (name: string) => this.numbers.get(name)!
    const order = (a: Waiter, b: Waiter) =>
      numberOf(a.address) - numberOf(b.address) || numberOf(a.key) - numberOf(b.key)
    const waiter = this.waiters.reduce((a, b) => (order(b, a) < 0 ? b : a))
    this.numbers.set(waiter.address, ++this.lastNumber).set(waiter.key, ++this.lastNumber)
    this.remove(waiter).start()
  }

  private remove(waiter: Waiter): Waiter {
    this.waiters = this.waiters.filter((other) => other !== waiter)
    if (!this.waiters.some(({ address }) => address === waiter.address)) this.numbers.delete(waiter.address)
    if (!this.waiters.some(({ key }) => key === waiter.key)) this.numbers.delete(waiter.key)
    return waiter
  }
}

const tooMany = (which: string) => tooManyRequests(`Too many sign-ins ${which} wait; try again in 1 second`)
const full = () => unavailable('Too many sign-ins wait')
