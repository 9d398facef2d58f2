import { errorCode } from '../src/postgres/errors.ts'

const mostCharacters = 500

/** An error in one bounded line that may be kept and shown; without the value that a database refused (class 22). */
export function reasonOf(error: unknown): string {
  const code = errorCode(error)
  const message = error instanceof Error ? error.message || error.name : String(error)
  const safe = code.startsWith('22') ? message.replace(/".*"/s, '"…"') : message
  const line = `${code && `${code}: `}${safe}`.replace(/[\s\0]+/g, ' ').trim()
  return line.slice(0, mostCharacters).toWellFormed()
}
