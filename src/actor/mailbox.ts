import { isOverloaded } from '../postgres/overload.ts'
import { unavailable } from '../wire/refusals.ts'
import type { Posted } from './work.ts'

/** Work that needs the actor for itself, such as a commit over two projects. */
export type Exclusive = () => Promise<void>

interface Letter {
  content: Posted | Exclusive
  /** When it came, on the clock of performance.now(). */
  since: number
}

/** Commands of one batch that read the log, each of which may load thousands of rows. */
const maxLogReaders = 4

export const full = () => unavailable('Too many writes wait for this project')

/** The actor's queue: first in, first out, and bounded. */
export class Mailbox {
  private readonly letters: Letter[] = []

  constructor(private readonly limit: number) {}

  /** @throws Refusal 503 when it is full, or so slow that an answer would come too late. */
  put(content: Posted | Exclusive): void {
    if (this.letters.length >= this.limit || isOverloaded(this.letters)) throw full()
    this.letters.push({ content, since: performance.now() })
  }

  /** The next work: commands that may share a commit, up to `most` writes, or one exclusive piece; undefined when empty. */
  take(most: number): Posted[] | Exclusive | undefined {
    const first = this.letters[0]?.content
    if (typeof first === 'function') this.letters.shift()
    if (!first || typeof first === 'function') return first
    let [weight, logReaders] = [0, 0]
    const stop = this.letters.findIndex(({ content }, i) => {
      if (typeof content === 'function') return true
      weight += content.work.weight ?? 1
      if (content.work.needs?.past) logReaders++
      return i > 0 && (weight > most || logReaders > maxLogReaders)
    })
    const taken = this.letters.splice(0, stop < 0 ? this.letters.length : stop)
    return taken.map(({ content }) => content as Posted)
  }

  get size(): number {
    return this.letters.length
  }
}
