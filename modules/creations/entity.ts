import type { View } from '../../src/model/view.ts'
import { conflict } from '../../src/wire/refusals.ts'

export const notUndone = () =>
  conflict('Changes of webhooks, service accounts and tokens cannot be undone: make the change again')

/** The part of a definition that shows an integration with its creator: null once that account is deleted. */
export const byCreator = <R extends { createdBy: string | null }>(view: View<R>) => ({
  view: {
    ...view,
    of: (row: R, person?: { id: string }) => view.of(person ? row : { ...row, createdBy: null }),
  },
  person: 'createdBy' as const,
})
