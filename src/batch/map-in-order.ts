import type { EventDraft } from '../model/events.ts'
import { HttpError } from '../responses/errors.ts'

export const operationError = (n: number, error: HttpError): HttpError =>
  withPrefix(`operations[${n}]`, error)

export const withPrefix = (name: string, { status, message, headers, details }: HttpError): HttpError =>
  new HttpError(status, `${name}: ${message}`, headers, details)

export const mapInOrder = <T, R>(
  all: T[],
  map: (one: T, n: number) => R,
  prefix: (n: number, error: HttpError) => HttpError = operationError,
): R[] =>
  all.map((one, n) => {
    try {
      return map(one, n)
    } catch (error) {
      throw error instanceof HttpError ? prefix(n, error) : error
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
