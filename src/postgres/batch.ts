import type { Distribution } from '../metrics/distribution.ts'
import { isPassing } from './errors.ts'
import { unavailable } from '../wire/refusals.ts'

/** A queue this short may be as slow as it likes: it waits for a fault to pass, not because there is too much to do. */
const shortQueue = 128
/** What waits longer than this would be answered too late to be of use, and so would all behind it. */
const patienceMs = 500

/** True when a queue, oldest first, has more to do than it can in time: better to refuse at once than to let all wait. */
export function isOverloaded(queue: { since: number }[]): boolean {
  return queue.length > shortQueue && performance.now() - queue[0]!.since > patienceMs
}

export interface BatchLimits<K> {
  /** Keys in one call, at most. */
  keys: number
  /** The sum of the keys' weights in one call, at most; a heavier key goes alone. A call with a heavy key is not waited for. */
  weigh?: { limit: number; heavy?: number; of: (key: K) => number }
  /** Calls under way at once, at most. */
  slots: number
  /** How long the oldest waits for a call under way before one goes beside it; no time if it is left out. */
  patienceMs?: number
  /** Unless it is false: when too many wait. Then who asks sees to it that they are not. */
  refuses?: boolean
  /** Told how long the oldest of each call has waited. */
  waits?: Distribution
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
  const { soon = setImmediate, patienceMs = 0, refuses = true } = limits
  const waiting: Waiting<K, V>[] = []
  let [busy, heavy] = [0, 0] // calls under way, and those of them with a heavy key
  const [pumpSoon, pumpIn] = [armed(soon, pump), armed(setTimeout, pump)]

  function pump() {
    while (waiting.length > 0 && busy < limits.slots) {
      const count = fitting(waiting, limits)
      const leftMs = waiting[0]!.since + patienceMs - performance.now()
      if (busy > heavy && count === waiting.length && leftMs > 0) return pumpIn(leftMs)
      busy++
      limits.waits?.addSince(waiting[0]!.since)
      void run(waiting.splice(0, count))
    }
  }

  async function run(batch: Waiting<K, V>[], weight = isHeavy(batch, limits) ? 1 : 0) {
    const began = performance.now()
    heavy += weight
    try {
      const values = await work(batch.map((w) => w.key))
      batch.forEach((w, i) => w.resolve(values[i] as V))
    } catch (error) {
      const isLate = isPassing(error) && performance.now() - began > longMs
      for (const w of isLate ? [...batch, ...waiting.splice(0)] : batch) w.reject(error)
    } finally {
      busy--
      heavy -= weight
      pump()
    }
  }

  return (key: K) =>
    new Promise<V>((resolve, reject) => {
      if (refuses && (waiting.length >= mostWaiting || isOverloaded(waiting))) return reject(tooMany())
      waiting.push({ key, resolve, reject, since: performance.now() })
      if (busy < limits.slots) pumpSoon()
    })
}

const tooMany = () => unavailable('Too many requests wait')

/** Starts it once: until it goes, starting it again changes nothing. */
function armed(start: (go: () => void, ms?: number) => unknown, go: () => void): (ms?: number) => void {
  let isArmed = false
  const fire = () => {
    isArmed = false
    go()
  }
  return (ms) => {
    if (isArmed) return
    isArmed = true
    start(fire, ms)
  }
}

const isHeavy = <K>(batch: { key: K }[], { weigh }: BatchLimits<K>): boolean =>
  weigh?.heavy !== undefined && batch.some(({ key }) => weigh.of(key) > weigh.heavy!)

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
