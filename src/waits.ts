import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from './logger.ts'

/** Returns undefined if `work` takes longer than `ms`. Each call costs 15 µs, too much for every request. */
export async function within<T>(ms: number, work: T | PromiseLike<T>): Promise<T | undefined> {
  const over = new AbortController()
  try {
    return await Promise.race([work, sleep(Math.max(ms, 0), undefined, { signal: over.signal })])
  } finally {
    over.abort()
  }
}

/** Calls `next` at once if the value is known, because most requests need not wait for a promise. */
export const whenKnown = <T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value)

/** Runs `work` at an interval, one run at a time. Returns a function that stops `work` and waits for the last run. */
export function repeatedly(work: () => Promise<unknown>, everyMs: number, log: Log): () => Promise<void> {
  let running: Promise<unknown> | undefined
  const timer = setInterval(() => {
    running ??= work()
      .catch((error) =>
        log.debug({ reason: String(error) }, 'periodic work failed; it runs again after the interval'),
      )
      .finally(() => (running = undefined))
  }, everyMs)
  return async () => {
    clearInterval(timer)
    await running
  }
}

/** Returns a function that calls `call` at most once in `ms`, and ignores all other calls. */
export function throttle<T>(ms: number, call: (argument: T) => void): (argument: T) => void {
  let calledAt = -Infinity
  return (argument) => {
    if (performance.now() < calledAt + ms) return
    calledAt = performance.now()
    call(argument)
  }
}
