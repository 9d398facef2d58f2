import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { HttpError, unavailable } from '../responses/errors.ts'

/** SQLSTATEs of connections, resources, shutdown, timeouts, serialization conflicts and writes on a standby (25006). */
export const transientCodes = /^(08|53|57|25006|25P0[34]|4000[13]|40P01|55P03)/

/** Errors after which a query may have committed. The value is true if the query was sent on a connection that may write. */
const unknownOutcomes = new WeakMap<object, boolean>()

/** True for a temporary error: a repeated statement may succeed. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return unknownOutcomes.has(error as object)
  // FATAL and PANIC end the connection; the statement is not the cause.
  return (error.severity ?? error.severity_local) !== 'ERROR' || transientCodes.test(error.code)
}

/** True if the failed statement may have written something, or may still write. */
export const mayBeWritten = (error: unknown): boolean => unknownOutcomes.get(error as object) === true

/** True for a statement timeout. Such a statement is not repeated, because it would probably take too long again. */
export const isStatementTimeout = (error: unknown): boolean => errorCode(error) === '57014'
export const isLockTimeout = (error: unknown): boolean => errorCode(error) === '55P03'

export function toHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error
  if (!isTransient(error)) return undefined
  return unavailable(
    isStatementTimeout(error)
      ? 'The database took too long for a statement'
      : 'The database cannot be reached',
  )
}

/**
 * Does not mark an error with a known outcome: Postgres replied, or a defect prevented sending the query.
 * @param isSentWrite the query was sent on a connection that may write
 */
export function markUnknownOutcome(error: unknown, isSentWrite = false): void {
  if (!(error instanceof Error) || isDefect(error)) return
  if (error instanceof postgres.PostgresError && isRolledBack(error)) return
  unknownOutcomes.set(error, isSentWrite || mayBeWritten(error))
}

/** FATAL and PANIC may follow a commit. A pooler sends errors of class 08 if it has lost the server. */
const isRolledBack = ({ severity, severity_local: local, code }: postgres.PostgresError): boolean =>
  (severity ?? local) === 'ERROR' && !code.startsWith('08')

const isDefect = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || defects.includes(errorCode(error))
const defects = ['UNDEFINED_VALUE', 'MAX_PARAMETERS_EXCEEDED', 'NOT_TAGGED_CALL', 'UNSAFE_TRANSACTION']

export function connectionError(code: string, message: string, cause?: unknown): Error {
  const error = Object.assign(new Error(message, { cause }), { code })
  unknownOutcomes.set(error, false)
  return error
}

export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

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
