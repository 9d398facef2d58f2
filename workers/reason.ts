import { errorCode } from '../src/postgres/errors.ts'
import { type ErrorStatus, HttpError } from '../src/responses/errors.ts'

const maxCharacters = 500

/** Formats an error as one short line, without the values that Postgres rejected (SQLSTATE 22…). */
export function reasonOf(error: unknown): string {
  const code = errorCode(error)
  const message = error instanceof Error ? error.message || error.name : String(error)
  const safe = code.startsWith('22') ? message.replace(/".*"/s, '"…"') : message
  const line = `${code && `${code}: `}${safe}`.replace(/[\s\0]+/g, ' ').trim()
  return line.slice(0, maxCharacters).toWellFormed()
}

export const ignoreStatus = (status: ErrorStatus) => (error: unknown) => {
  if (!(error instanceof HttpError) || error.status !== status) throw error
}
