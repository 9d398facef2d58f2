import { type Answer, Lost } from './protocol.ts'

/** An answer that is so late will not come: the listener refuses what is past its time. */
const graceMs = 500

export interface Waiting {
  text: string
  bytes: number
  deadline: number
  resolve(answer: Answer): void
  reject(reason: Error): void
}

/** What was sent and has no answer yet, by its number. */
export class Pending {
  private readonly asks = new Map<number, Waiting>()
  private nextId = 0

  get size(): number {
    return this.asks.size
  }

  /** Answers the id of the first; the others' count on from it. */
  add(asks: Waiting[]): number {
    const firstId = this.nextId
    for (const ask of asks) {
      ask.text = ''
      this.asks.set(this.nextId++, ask)
    }
    return firstId
  }

  settle(id: number, answer: Answer): void {
    const ask = this.asks.get(id)
    this.asks.delete(id)
    ask?.resolve(answer)
  }

  loseOverdue(): void {
    const givenUp = performance.now() - graceMs
    for (const [id, { deadline, reject }] of this.asks) {
      if (deadline > givenUp) continue
      this.asks.delete(id)
      reject(new Lost(true, 'no answer in time'))
    }
  }

  loseAll(reason: string): void {
    for (const { reject } of this.asks.values()) reject(new Lost(true, reason))
    this.asks.clear()
  }
}
