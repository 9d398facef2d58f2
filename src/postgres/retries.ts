import { setTimeout as sleep } from 'node:timers/promises'
import { isTransient } from './errors.ts'

/** Without a pause, the retry may use a connection that is about to close. */
export const retryDelay = () => sleep(20)

export const retryOnce = <T>(work: () => PromiseLike<T>): Promise<T> =>
  Promise.resolve(work()).catch((error: unknown) =>
    isTransient(error) ? retryDelay().then(work) : Promise.reject(error),
  )

type Result = PromiseLike<boolean | readonly unknown[]>

/** Retries a write after a temporary error, unless `isWritten` finds that the first attempt has committed. */
export async function writeExactlyOnce(write: () => Result, isWritten: () => Result): Promise<boolean> {
  try {
    return isDone(await write())
  } catch (error) {
    if (!isTransient(error)) throw error
    await retryDelay()
    return isDone(await retryOnce(isWritten)) || isDone(await write())
  }
}

const isDone = (found: boolean | readonly unknown[]): boolean =>
  typeof found === 'boolean' ? found : found.length > 0
