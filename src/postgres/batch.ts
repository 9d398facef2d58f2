import { isPassing } from './errors.ts'
import { isOverloaded } from './overload.ts'
import { unavailable } from '../wire/refusals.ts'

export interface BatchLimits<K> {
  /** Keys in one call, at most. */
  keys: number
  /** The sum of the keys' weights in one call, at most; a heavier key goes alone. */
  weigh?: { limit: number; of: (key: K) => number }
  /** Calls under way at once, at most. */
  slots: number
  /** When a lone key goes: after the I/O of this tick of the loop, so that requests read together travel together. */
  soon?: (go: () => void) => unknown
}

interface Waiting<K, V> {
  key: K
  resolve: (value: V) => void
  reject: (error: unknown) => void
  since: number
}

/** Keys that may wait, at most. */
const mostWaiting = 10_000
/** A call that fails after this has not been refused: it has waited. */
const longMs = 1_000

/**
 * Makes shared calls of single ones: what arrives while every slot is busy goes together in the next call, so
 * batches grow with load and a lone caller never waits for a timer.
 * `work` answers the values in the order of its keys; when it throws, every caller of that batch gets the error.
 * When it fails in passing after a long time (nobody answers) so do all who waited for it: theirs would come too late.
 * @throws Refusal 503 when too many wait already.
 */
export function batched<K, V>(limits: BatchLimits<K>, work: (keys: K[]) => Promise<V[]>) {
  const { soon = setImmediate } = limits
  const waiting: Waiting<K, V>[] = []
  let busy = 0
  let scheduled = false

  function pump() {
    scheduled = false
    while (waiting.length > 0 && busy < limits.slots) {
      busy++
      void run(waiting.splice(0, fitting(waiting, limits)))
    }
  }

  async function run(batch: Waiting<K, V>[]) {
    const began = performance.now()
    try {
      const values = await work(batch.map((w) => w.key))
      batch.forEach((w, i) => w.resolve(values[i] as V))
    } catch (error) {
      const isLate = isPassing(error) && performance.now() - began > longMs
      for (const w of isLate ? [...batch, ...waiting.splice(0)] : batch) w.reject(error)
    } finally {
      busy--
      pump()
    }
  }

  return (key: K) =>
    new Promise<V>((resolve, reject) => {
      if (waiting.length >= mostWaiting || isOverloaded(waiting)) {
        return reject(unavailable('Too many requests wait'))
      }
      waiting.push({ key, resolve, reject, since: performance.now() })
      if (!scheduled && busy < limits.slots) {
        scheduled = true
        soon(pump)
      }
    })
}

/** How many of those who wait go together. */
function fitting<K>(waiting: { key: K }[], { keys, weigh }: BatchLimits<K>): number {
  const most = Math.min(waiting.length, keys)
  if (!weigh) return most
  let weight = 0
  for (let i = 0; i < most; i++) {
    weight += weigh.of(waiting[i]!.key)
    if (weight > weigh.limit) return Math.max(i, 1)
  }
  return most
}
