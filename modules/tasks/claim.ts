import { Type } from '@sinclair/typebox'
import type { TaskRow } from '../../drizzle/rows.ts'
import { nowMs } from '../../src/ids.ts'
import { noClaim, isLive } from '../../src/model/claims.ts'
import { deletedTag } from '../../src/reads/names.ts'
import type { Person, FindPerson } from '../../src/reads/people.ts'
import { untilPart } from '../../src/responses/timed-etag.ts'
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

/** The claim of a claimed task as responses show it. @param holder the account that holds the claim */
export function claimOf({ claimedBy, claimedUntil, claimSeq }: TaskRow, holder?: Person) {
  const name = holder !== undefined && holder.id === claimedBy ? holder.name : null
  return { by: { id: claimedBy, name }, until: claimedUntil, seq: claimSeq }
}

/** The part of a task's ETag that changes with the holder's name and at the end of the claim. Empty without a claim. */
export const claimTag = ({ claimedBy, claimedUntil }: TaskRow, holder?: Person): string =>
  claimedBy && claimedUntil
    ? claimTagOf(Date.parse(claimedUntil), holder?.id === claimedBy ? holder.nameTag : deletedTag)
    : ''

export const claimTagOf = (untilMs: number, nameTag: string): string => untilPart(untilMs) + nameTag

/** An undo never restores a claim, and ends the claim of a task that it changes back to DONE. */
export function withoutClaim(values: Partial<TaskRow>, task?: TaskRow): Partial<TaskRow> {
  const restoresClaim = values.claimedBy !== undefined || values.claimedUntil !== undefined
  return restoresClaim || (values.status === 'DONE' && task?.claimedBy) ? { ...values, ...noClaim } : values
}

export interface ShownClaims {
  /** Undefined if no row shows a claim. */
  holderOf?(row: TaskRow): Person | undefined
  /** The first instant, in ms, at which a shown claim ends. */
  untilMs?: number
}

/**
 * Finds the holders of claims, and removes claims that have ended from the rows.
 * @param isPast true for rows at an earlier version, which show claims even if their time is over
 */
export async function showClaims(
  findPerson: FindPerson,
  rows: TaskRow[],
  isPast = false,
): Promise<ShownClaims> {
  const claimed = rows.filter(({ claimedBy }) => claimedBy != null)
  if (claimed.length === 0) return {}
  const now = new Date(nowMs()).toISOString()
  const live = claimed.filter((row) => isPast || isLive(row, now))
  for (const row of claimed) if (!live.includes(row)) Object.assign(row, noClaim)
  if (live.length === 0) return {}
  const ids = new Set(live.map(({ claimedBy }) => claimedBy!))
  const found = await Promise.all([...ids].map((key) => findPerson({ by: 'id', key })))
  const people = new Map(found.flatMap((person) => (person ? [[person.id, person]] : [])))
  return {
    holderOf: ({ claimedBy }) => people.get(claimedBy ?? ''),
    untilMs: Math.min(...live.map(({ claimedUntil }) => Date.parse(claimedUntil!))),
  }
}
