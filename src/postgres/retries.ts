import { setTimeout as sleep } from 'node:timers/promises'
import { isStatementTimeout, isTransient, mayBeWritten } from './errors.ts'

/** Without a pause, the retry may use a connection that is about to close. */
export const retryDelay = () => sleep(20)

/** Retries after a temporary error, but not after a statement timeout. */
export const retryOnce = <T>(work: () => PromiseLike<T>): Promise<T> =>
  Promise.resolve(work()).catch((error: unknown) => retryAfter(error, work))

function retryAfter<T>(error: unknown, retry: () => PromiseLike<T>): Promise<T> {
  if (!isTransient(error) || isStatementTimeout(error)) return Promise.reject(error)
  return retryDelay()
    .then(retry)
    .catch((later: unknown) => Promise.reject(mayBeWritten(error) ? error : later))
}

type Result = PromiseLike<boolean | readonly unknown[]>

/**
 * Retries a write after a temporary error, unless `isWritten` finds that the first attempt has committed. The first
 * attempt may also commit while the second one runs.
 */
export const writeExactlyOnce = (write: () => Result, isWritten: () => Result): Promise<boolean> =>
  Promise.resolve(write())
    .then(isDone)
    .catch((error: unknown) =>
      retryAfter(
        error,
        async () =>
          isDone(await retryOnce(isWritten)) ||
          isDone(await write()) ||
          (mayBeWritten(error) && isDone(await isWritten())),
      ),
    )

const isDone = (found: boolean | readonly unknown[]): boolean =>
  typeof found === 'boolean' ? found : found.length > 0
