import type { Distribution } from '../metrics/distribution.ts'
import { isPassing } from './errors.ts'
import { unavailable } from '../responses/errors.ts'

/** A queue this short waits for a fault to pass, not because of overload. */
const shortQueue = 128
const patienceMs = 500

/** True when a queue, oldest first, is too long to be served in time: rejecting at once is better than waiting. */
export function isOverloaded(queue: { since: number }[]): boolean {
  return queue.length > shortQueue && performance.now() - queue[0]!.since > patienceMs
}

export interface BatchLimits<K> {
  keys: number
  /** Upper limit of the weights in one call; a heavier key goes alone. No call waits for a call with a heavy key. */
  weigh?: { limit: number; heavy?: number; of: (key: K) => number }
  slots: number
  patienceMs?: number
  /** Rejects when too many wait, by default. If false, the caller bounds the queue. */
  refuses?: boolean
  waits?: Distribution
  /** When a lone key goes: by default after the I/O of this tick, so that requests read together travel together. */
  soon?: (go: () => void) => unknown
}

interface Waiting<K, V> {
  key: K
  resolve: (value: V) => void
  reject: (error: unknown) => void
  since: number
}

const mostWaiting = 10_000
const longMs = 1_000

/**
 * Joins single calls: keys that arrive while every slot is busy go together in the next call. `work` returns the values in
 * the order of its keys; an error after a long time without an answer is also that of the waiting keys.
 * @throws HttpError 503 when too many wait already.
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
