import type { EventDraft } from '../model/events.ts'
import { HttpError } from '../responses/errors.ts'

/** The error of one of many, that names it. */
export const ofOperation = (n: number, error: HttpError): HttpError => prefixed(`operations[${n}]`, error)

const prefixed = (name: string, { status, message, headers }: HttpError) =>
  new HttpError(status, `${name}: ${message}`, headers)

/** Works on one after another, until one is rejected. Prefixes its error with its name, if it has one. */
export const inTurn = <T, R>(
  all: T[],
  work: (one: T, n: number) => R,
  nameOf: (n: number, error: HttpError) => string | undefined = (n) => `operations[${n}]`,
): R[] =>
  all.map((one, n) => {
    try {
      return work(one, n)
    } catch (error) {
      const name = error instanceof HttpError ? nameOf(n, error) : undefined
      throw name === undefined ? error : prefixed(name, error as HttpError)
    }
  })

/**
 * Rejects a removed user who comes back as another member in the same commit: one statement writes new members before the
 * old ones are out of it.
 * @param gone the memberships that ended so far, by their users
 * @throws HttpError
 */
export function requireNotBack(
  gone: Map<string, string>,
  changes: EventDraft[],
  error: () => HttpError,
): void {
  for (const change of changes) {
    if (change.entity !== 'member') continue
    const { before, after, entityId } = change as EventDraft<'member'>
    if (!after) gone.set(before!.userId!, entityId)
    else if (!before && (gone.get(after.userId) ?? entityId) !== entityId) throw error()
  }
}
