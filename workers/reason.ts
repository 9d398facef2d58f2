import { errorCode } from '../src/core/postgres/errors.ts'

const mostCharacters = 500

/**
 * An error in one bounded line that may be kept and shown. Of what a database refused for its values, those are left out;
 * of a query that failed, its text and parameters.
 */
export function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  if (errorCode(cause)) return reasonOf(cause)
  const code = errorCode(error)
  const message = error instanceof Error ? error.message || error.name : String(error)
  const safe = code.startsWith('22') ? message.replace(/"[^"]*"/g, '"…"') : message
  const line = `${code && `${code}: `}${safe}`.replace(/[\s\0]+/g, ' ').trim()
  return line.slice(0, mostCharacters).toWellFormed()
}
