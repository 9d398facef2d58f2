import { DocketError } from '../errors.ts'
import { backoffMs, sleep } from '../retries.ts'

const temporary = [408, 425, 429]

/** True if a retry would fail too: after a response that is not JSON, a redirect, a missing right or an invalid request. */
export const isFinal = (error: unknown): boolean =>
  !(error instanceof DocketError) ||
  (error.status > 0 && error.status < 500 && !temporary.includes(error.status))

export const hasStatus = (error: unknown, ...statuses: number[]): boolean =>
  error instanceof DocketError && statuses.includes(error.status)

/** Returns the pause before the next attempt: a random time, but at least the time in `Retry-After`. */
export const pauseMs = (error: unknown, failures: number): number =>
  Math.max(backoffMs(failures), error instanceof DocketError ? (error.retryAfterMs ?? 0) : 0)

/** Repeats a read until it succeeds. @throws the reason of the signal, or an error for which `isFinal` is true */
export async function untilSuccess<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await read()
    } catch (error) {
      if (isFinal(error)) throw error
      await sleep(pauseMs(error, failures), signal)
    }
  }
}
