import postgres from 'postgres'
import { databaseUnavailable, HttpError } from '../responses/errors.ts'

/** Temporary errors: connection, resources, shutdown, time-out, serialization conflict, write on a standby (25006). */
export const transientCodes = /^(08|53|57|25006|25P0[34]|4000[13]|40P01|55P03)/

/** Errors of queries that got no reply from Postgres. The outcome of such a query is unknown. */
const unknownOutcomes = new WeakSet<object>()

/** True for a temporary error: Postgres did not reject the statement itself. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return unknownOutcomes.has(error as object)
  // FATAL and PANIC end the connection; the statement is not the cause.
  return (error.severity ?? error.severity_local) !== 'ERROR' || transientCodes.test(error.code)
}

export const toHttpError = (error: unknown): HttpError | undefined =>
  error instanceof HttpError ? error : isTransient(error) ? databaseUnavailable() : undefined

/** Marks the outcome of a query as unknown, unless Postgres replied, or a defect prevented sending the query. */
export function markUnknownOutcome(error: unknown): void {
  const isKnown = error instanceof postgres.PostgresError || isDefect(error)
  if (!isKnown && error instanceof Error) unknownOutcomes.add(error)
}

const isDefect = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || defects.includes(errorCode(error))
const defects = ['UNDEFINED_VALUE', 'MAX_PARAMETERS_EXCEEDED', 'NOT_TAGGED_CALL', 'UNSAFE_TRANSACTION']

export function connectionError(code: string, message: string, cause?: unknown): Error {
  const error = Object.assign(new Error(message, { cause }), { code })
  unknownOutcomes.add(error)
  return error
}

/** Returns the SQLSTATE or the driver's code of an error, or an empty string. */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
