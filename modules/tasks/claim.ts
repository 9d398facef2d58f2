import { Type } from '@sinclair/typebox'
import type { TaskRow } from '../../drizzle/rows.ts'
import { noClaim } from '../../src/model/claims.ts'
import type { Person } from '../../src/reads/people.ts'
import { named, Id, OrNull, Timestamp } from '../../src/schema/response.ts'

export const claimSchema = named(
  'Claim',
  Type.Object({
    by: Type.Object({
      id: Id('The account that holds the claim'),
      name: OrNull(Type.String(), 'The current name; null after the account is deleted', 'Ada Lovelace'),
    }),
    until: Timestamp('When the claim ends, unless its holder extends it'),
    seq: Type.Integer({
      minimum: 1,
      description: 'The seq of the event that began the claim: the fencing number for Docket-If-Claim',
      examples: [42],
    }),
  }),
)

/** The claim of a claimed task as responses show it. @param holder the account that holds the claim */
export function claimOf({ claimedBy, claimedUntil, claimSeq }: TaskRow, holder?: Person) {
  const name = holder !== undefined && holder.id === claimedBy ? holder.name : null
  return { by: { id: claimedBy, name }, until: claimedUntil, seq: claimSeq }
}

/** The part of a task's ETag that changes with the holder's name and at the end of the claim. Empty without a claim. */
export const claimTag = ({ claimedBy, claimedUntil }: TaskRow, holder?: Person): string =>
  claimedBy && claimedUntil
    ? claimTagOf(Date.parse(claimedUntil), holder?.id === claimedBy ? holder.nameTag : '')
    : ''

export const claimTagOf = (untilMs: number, nameTag: string): string => `.u${untilMs.toString(36)}${nameTag}`

/** An undo never restores a claim, and ends the claim of a task that it changes back to DONE. */
export function withoutClaim(values: Partial<TaskRow>, task?: TaskRow): Partial<TaskRow> {
  const restoresClaim = values.claimedBy !== undefined || values.claimedUntil !== undefined
  return restoresClaim || (values.status === 'DONE' && task?.claimedBy) ? { ...values, ...noClaim } : values
}
