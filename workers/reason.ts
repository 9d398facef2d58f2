import { errorCode } from '../src/postgres/errors.ts'
import { type ErrorStatus, HttpError } from '../src/responses/errors.ts'

const maxCharacters = 500

/** An error in one bounded line that may be stored and shown; without the value that a database rejected (class 22). */
export function reasonOf(error: unknown): string {
  const code = errorCode(error)
  const message = error instanceof Error ? error.message || error.name : String(error)
  const safe = code.startsWith('22') ? message.replace(/".*"/s, '"…"') : message
  const line = `${code && `${code}: `}${safe}`.replace(/[\s\0]+/g, ' ').trim()
  return line.slice(0, maxCharacters).toWellFormed()
}

/** Ignores the rejection that says that nothing is left to do. */
export const ignoreStatus = (status: ErrorStatus) => (error: unknown) => {
  if (!(error instanceof HttpError) || error.status !== status) throw error
}
