import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { databaseUnavailable, HttpError } from '../responses/errors.ts'

/** Temporary errors: no connection, out of resources, shutting down, timed out, serialization conflict, standby (25006). */
export const transientCodes = /^(08|53|57|25006|25P0[34]|4000[13]|40P01|55P03)/

/** Errors of queries without a reply of Postgres: their outcome is unknown. */
const unknownOutcomes = new WeakSet<object>()

/** True for a temporary error: Postgres did not reject the statement itself. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return unknownOutcomes.has(error as object)
  // FATAL and PANIC end the connection; the statement is not the cause.
  return (error.severity ?? error.severity_local) !== 'ERROR' || transientCodes.test(error.code)
}

export const isUnavailable = (error: unknown): boolean => !(error instanceof HttpError) && isTransient(error)

export const toHttpError = (error: unknown): HttpError | undefined =>
  error instanceof HttpError ? error : isUnavailable(error) ? databaseUnavailable() : undefined

export const isStandby = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === '25006'

/** Marks the outcome of a query as unknown, unless a defect of the caller kept the query from being sent. */
export function markUnknownOutcome(error: unknown): void {
  const isOurs = error instanceof postgres.PostgresError || isDefect(error)
  if (!isOurs && error instanceof Error) unknownOutcomes.add(error)
}

const isDefect = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || defects.includes(errorCode(error))
const defects = ['UNDEFINED_VALUE', 'MAX_PARAMETERS_EXCEEDED', 'NOT_TAGGED_CALL', 'UNSAFE_TRANSACTION']

export function connectionError(code: string, message: string, cause?: unknown): Error {
  const error = Object.assign(new Error(message, { cause }), { code })
  unknownOutcomes.add(error)
  return error
}

/** Pause before a retry, so that it is not sent on a connection that is about to close. */
export const retryDelay = () => sleep(20)

/** Retries idempotent work once after a temporary error. */
export const retryOnce = <T>(work: () => PromiseLike<T>): Promise<T> =>
  Promise.resolve(work()).catch((error: unknown) =>
    isTransient(error) ? retryDelay().then(work) : Promise.reject(error),
  )

/** True, or at least one row, if the statement changed or found something. */
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

/** Returns the SQLSTATE or the driver's code of an error, or an empty string. */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
