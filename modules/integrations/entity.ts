import type { View } from '../../src/model/view.ts'
import { conflict } from '../../src/responses/errors.ts'

export const integrationNotUndoable = () =>
  conflict('Changes of webhooks, service accounts and tokens cannot be undone: send another change instead')

export function freeSlot(rows: { slot: number }[]): number {
  const used = new Set(rows.map(({ slot }) => slot))
  let slot = 1
  while (used.has(slot)) slot++
  return slot
}

/** Shows `createdBy` as null after the creator's account is deleted. */
export const byCreator = <R extends { createdBy: string | null }>(view: View<R>) => ({
  view: {
    ...view,
    of: (row: R, person?: { id: string }) => view.of(person ? row : { ...row, createdBy: null }),
  },
  person: 'createdBy' as const,
})
