import { ConnectionError, DocketError } from './errors.ts'

/** 0: no response. */
export const retriedStatuses = [0, 429, 502, 503, 504]
const firstBackoffMs = 200
const maxBackoffMs = 10_000
/** Spreads the retries of clients that got the same `Retry-After`. */
const maxJitterMs = 500
const maxTimerMs = 2 ** 31 - 1

export interface Limits {
  /** The time for all attempts together, in milliseconds. */
  deadlineMs: number
  /** The time for one attempt, in milliseconds. Without this limit, an attempt on a silent connection would never end. */
  attemptMs: number
  signal?: AbortSignal | undefined
}

/**
 * Returns the result of the first attempt that succeeds. Retries after 429, 502, 503, 504 and lost connections.
 * @throws the last error, if the next attempt would start after the deadline; the reason of `signal`, if it aborts
 */
export async function withRetries<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  limits: Limits,
): Promise<T> {
  const { deadlineMs, attemptMs, signal } = limits
  const start = performance.now()
  const timeout = new ConnectionError(`No response within ${deadlineMs} ms`)
  let last: unknown
  const retry = async (callSignal: AbortSignal): Promise<T> => {
    for (let tries = 0; ; tries++) {
      try {
        const attemptTimeout = new ConnectionError(`No response within ${attemptMs} ms`)
        return await within(attemptMs, attemptTimeout, callSignal, attempt)
      } catch (error) {
        callSignal.throwIfAborted()
        last = error
        const pauseMs = retryPauseMs(error, tries)
        if (pauseMs === undefined || performance.now() - start + pauseMs >= deadlineMs) throw error
        await sleep(pauseMs, callSignal)
      }
    }
  }
  return within(deadlineMs, timeout, signal, retry).catch((error: unknown) => {
    throw error === timeout ? (last ?? timeout) : error
  })
}

/** Runs work. Aborts its signal after `ms` with the reason `timeout`, or when `parent` aborts, with the parent's reason. */
async function within<T>(
  ms: number,
  timeout: Error,
  parent: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = new AbortController()
  const abort = () => end.abort(parent?.reason)
  const timer = setTimeout(() => end.abort(timeout), Math.min(ms, maxTimerMs))
  const forget = parent && onAbort(parent, abort)
  if (parent?.aborted) abort()
  try {
    return await untilAborted(() => work(end.signal), end.signal)
  } finally {
    clearTimeout(timer)
    forget?.()
  }
}

/** Returns how long to wait before the next attempt, with random jitter; undefined if a retry cannot help. */
function retryPauseMs(error: unknown, tries: number): number | undefined {
  if (!(error instanceof DocketError) || !retriedStatuses.includes(error.status)) return undefined
  const { retryAfterMs } = error
  return retryAfterMs === undefined ? backoffMs(tries) : retryAfterMs + Math.random() * maxJitterMs
}

/** Returns a random time up to a bound that doubles with each try, at most 10 s. */
export const backoffMs = (tries: number): number =>
  Math.random() * Math.min(maxBackoffMs, firstBackoffMs * 2 ** tries)

/** Resolves after `ms`. @throws the reason of `signal` as soon as the signal aborts */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const ended = new Promise<void>((resolve) => (timer = setTimeout(resolve, Math.min(ms, maxTimerMs))))
  return signal ? untilAborted(() => ended, signal).finally(() => clearTimeout(timer)) : ended
}

/**
 * Returns the result of the work, or rejects when the signal aborts, even if the work ignores the signal.
 * @throws the reason of `signal`
 */
export function untilAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const forget = onAbort(signal, () => reject(signal.reason))
    work().then(resolve, reject).finally(forget)
  })
}

const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `callback` when the signal aborts. Returns a function that prevents this. All callbacks of a signal share one
 * listener, because Node warns of a leak when a signal has more than 10.
 */
function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = callbacksOf.get(signal) ?? listenTo(signal)
  callbacks.add(callback)
  return () => void callbacks.delete(callback)
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>()
  callbacksOf.set(signal, callbacks)
  signal.addEventListener('abort', () => callbacks.forEach((one) => one()), { once: true })
  return callbacks
}
