import type { TaskRow } from '../../drizzle/rows.ts'

type Claim = Pick<TaskRow, 'claimedBy' | 'claimedUntil' | 'claimSeq'>

/** The columns of a task without a claim. */
export const noClaim = { claimedBy: null, claimedUntil: null, claimSeq: null } as const

/** The columns of a task whose claim has ended without success: the number of attempts counts the claim. */
export const failedClaim = ({ attempts }: Pick<TaskRow, 'attempts'>) => ({
  ...noClaim,
  attempts: (attempts ?? 0) + 1,
})

/** True until the claim's end, also if no worker has recorded the end yet. @param now an instant in ISO 8601 */
export const isLive = ({ claimedBy, claimedUntil }: Claim, now: string): boolean =>
  claimedBy != null && claimedUntil != null && claimedUntil > now

/** Returns the row as responses show it: without a claim that has ended. */
export function withoutEndedClaim<R>(row: R, now: string): R {
  const claim = row as Claim | undefined
  return claim?.claimedBy != null && !isLive(claim, now) ? { ...row, ...noClaim } : row
}
