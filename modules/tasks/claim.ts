import { Type } from '@sinclair/typebox'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { Person } from '../../src/reads/people.ts'
import { named } from '../../src/schema/named.ts'
import { Id, OrNull, Timestamp } from '../../src/schema/response.ts'

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

/** The claim of a task as responses show it, or null. @param holder the account that holds the claim */
export const claimOf = ({ claimedBy, claimedUntil, claimSeq }: TaskRow, holder?: Person) =>
  claimedBy ? { by: { id: claimedBy, name: holder?.name ?? null }, until: claimedUntil, seq: claimSeq } : null
