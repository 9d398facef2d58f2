import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { databaseUnavailable, HttpError } from '../responses/errors.ts'

/** The statement is not at fault: no connection, out of resources, shutting down, out of time, a conflict, a standby (25006). */
const passing = /^(08|53|57|25006|25P0[34]|4000[13]|40P01|55P03)/

/** Errors of queries that Postgres did not answer: the outcome is unknown. */
const unanswered = new WeakSet<object>()

/** True for a temporary error: Postgres itself did not reject the statement. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return unanswered.has(error as object)
  // A severity above ERROR ends the connection, and says nothing of the statement.
  return (error.severity ?? error.severity_local) !== 'ERROR' || passing.test(error.code)
}

export const isAway = (error: unknown): boolean => !(error instanceof HttpError) && isPassing(error)

export const refusalIn = (error: unknown): HttpError | undefined =>
  error instanceof HttpError ? error : isAway(error) ? databaseUnavailable() : undefined

export const isStandby = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === '25006'

/** Notes that the outcome of a query is unknown, unless it was never sent because of a defect. */
export function noteUnanswered(error: unknown): void {
  const isOurs = error instanceof postgres.PostgresError || isDefect(error)
  if (!isOurs && error instanceof Error) unanswered.add(error)
}

const isDefect = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || defects.includes(errorCode(error))
const defects = ['UNDEFINED_VALUE', 'MAX_PARAMETERS_EXCEEDED', 'NOT_TAGGED_CALL', 'UNSAFE_TRANSACTION']

export function unreached(code: string, message: string, cause?: unknown): Error {
  const error = Object.assign(new Error(message, { cause }), { code })
  unanswered.add(error)
  return error
}

/** Before a repetition, so that it is not sent on a connection that is about to end. */
export const rest = () => sleep(20)

/** Repeats idempotent work once when it fails in passing. */
export const patiently = <T>(work: () => PromiseLike<T>): Promise<T> =>
  Promise.resolve(work()).catch((error: unknown) =>
    isPassing(error) ? rest().then(work) : Promise.reject(error),
  )

/** True or a row when the statement did something. */
type Outcome = PromiseLike<boolean | readonly unknown[]>

/** Repeats a write that must not happen twice: an unknown outcome is looked up first. */
export async function certainly(write: () => Outcome, stands: () => Outcome): Promise<boolean> {
  try {
    return isDone(await write())
  } catch (error) {
    if (!isPassing(error)) throw error
    await rest()
    return isDone(await patiently(stands)) || isDone(await write())
  }
}

const isDone = (found: boolean | readonly unknown[]): boolean =>
  typeof found === 'boolean' ? found : found.length > 0

/** The SQLSTATE or the driver's code of a database error, else an empty string. */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
