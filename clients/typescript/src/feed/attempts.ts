import { DocketError } from '../errors.ts'
import { backoffMs, sleep } from '../retries.ts'

const temporary = [408, 425, 429]

/** True if another attempt gets the same answer: a redirect, a missing right, an unknown project, an invalid request. */
export const isFinal = (error: unknown): boolean =>
  !(error instanceof DocketError) ||
  (error.status >= 300 && error.status < 500 && !temporary.includes(error.status))

export const hasStatus = (error: unknown, ...statuses: number[]): boolean =>
  error instanceof DocketError && statuses.includes(error.status)

/** Returns how long to wait before the next attempt: as long as the service asks, or else a random time. */
export const pauseMs = (error: unknown, failures: number): number =>
  Math.max(backoffMs(failures), error instanceof DocketError ? (error.retryAfterMs ?? 0) : 0)

/** Repeats a read until the service answers. @throws the reason of the signal, or a final error */
export async function untilAnswered<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await read()
    } catch (error) {
      if (isFinal(error)) throw error
      await sleep(pauseMs(error, failures), signal)
    }
  }
}
