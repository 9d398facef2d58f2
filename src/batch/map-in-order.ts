import type { EventDraft } from '../model/events.ts'
import { HttpError } from '../responses/errors.ts'

export const operationError = (n: number, error: HttpError): HttpError => prefixed(`operations[${n}]`, error)

const prefixed = (name: string, { status, message, headers }: HttpError) =>
  new HttpError(status, `${name}: ${message}`, headers)

export const mapInOrder = <T, R>(
  all: T[],
  map: (one: T, n: number) => R,
  nameOf: (n: number, error: HttpError) => string | undefined = (n) => `operations[${n}]`,
): R[] =>
  all.map((one, n) => {
    try {
      return map(one, n)
    } catch (error) {
      const name = error instanceof HttpError ? nameOf(n, error) : undefined
      throw name === undefined ? error : prefixed(name, error as HttpError)
    }
  })

/** One commit cannot remove and invite a user: its statement inserts new members before it deletes old members. */
export function rejectReinvited(
  removed: Map<string, string>,
  changes: EventDraft[],
  error: () => HttpError,
): void {
  for (const change of changes) {
    if (change.entity !== 'member') continue
    const { before, after, entityId } = change as EventDraft<'member'>
    if (!after) removed.set(before!.userId!, entityId)
    else if (!before && (removed.get(after.userId) ?? entityId) !== entityId) throw error()
  }
}
