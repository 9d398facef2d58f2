import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { databaseAway, Refusal } from '../wire/refusals.ts'

/**
 * What Postgres says when a statement is not at fault: no connection, out of something, shutting down, out of time,
 * in conflict with another, or only a standby by now (25006).
 */
const passing = /^(08|53|57|25006|25P0[34]|4000[13]|40P01|55P03)/

/** Errors that came from a query or its connection and not from Postgres: nobody knows whether it was done. */
const unanswered = new WeakSet<object>()

/** True for an error that says "not now", not "never": whatever Postgres itself did not refuse. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return unanswered.has(error as object)
  // Worse than an ERROR ends the connection, and tells nothing of the statement.
  return (error.severity ?? error.severity_local) !== 'ERROR' || passing.test(error.code)
}

/** The database cannot be reached, as far as anybody knows; whoever refused something knew. */
export const isAway = (error: unknown): boolean => !(error instanceof Refusal) && isPassing(error)

/** What is to be answered to an error that is no fault of ours. */
export const refusalIn = (error: unknown): Refusal | undefined =>
  error instanceof Refusal ? error : isAway(error) ? databaseAway() : undefined

/** True when the server only reads: it is, or has just become, a standby. */
export const isStandby = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === '25006'

/** Tells an error that a query ended with from one of ours, of which nothing was sent. */
export function noteUnanswered(error: unknown): void {
  const isOurs = error instanceof postgres.PostgresError || isDefect(error)
  if (!isOurs && error instanceof Error) unanswered.add(error)
}

/** A parameter that cannot be sent. */
const isDefect = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || defects.includes(errorCode(error))
const defects = ['UNDEFINED_VALUE', 'MAX_PARAMETERS_EXCEEDED', 'NOT_TAGGED_CALL', 'UNSAFE_TRANSACTION']

/** The connection, or the wait for it, is over without an answer. */
export function unreached(code: string, message: string, cause?: unknown): Error {
  const error = Object.assign(new Error(message, { cause }), { code })
  unanswered.add(error)
  return error
}

/** Before a repetition: what failed together has ended by then, and nothing is asked on a connection that is about to. */
export const rest = () => sleep(20)

/** Does something that is safe to repeat, once more when it fails in passing. */
export const patiently = <T>(work: () => PromiseLike<T>): Promise<T> =>
  Promise.resolve(work()).catch((error: unknown) =>
    isPassing(error) ? rest().then(work) : Promise.reject(error),
  )

/** What a statement did: it returns a row when it did something. */
type Outcome = PromiseLike<boolean | readonly unknown[]>

/** Does a write that must not be done twice: when nobody knows whether it was, looks whether it stands before it tries again. */
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
