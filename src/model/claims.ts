import type { TaskRow } from '../../drizzle/rows.ts'
import { canonicalId, isId } from '../id-format.ts'
import { badRequest, HttpError } from '../responses/errors.ts'
import type { CheckedState } from './definition.ts'

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

/** A write runs only while the claim with this seq holds the task. */
export interface IfClaim {
  taskId: string
  seq: number
}

export const claimEnded = () =>
  new HttpError(412, 'The claim with this seq has ended', {}, { code: 'claim-ended' })

const badIfClaim = () =>
  badRequest('Docket-If-Claim must be the id of a task and the seq of its claim, separated by a space')

/** Reads `Docket-If-Claim`. @throws HttpError 400 */
export function readIfClaim({ headers }: Request): IfClaim | undefined {
  const header = headers.get('docket-if-claim')
  if (header === null) return undefined
  const [, given = '', seq] = /^\s*(\S+)\s+(\d{1,15})\s*$/.exec(header) ?? []
  const taskId = canonicalId(given)
  if (!isId(taskId)) throw badIfClaim()
  return { taskId, seq: Number(seq) }
}

type ClaimState = Pick<CheckedState, 'row'> & { projectId: string }

/** Runs in the actor, so the claim cannot end before the commit. A move may name a claim in either project. */
export function requireClaim({ taskId, seq }: IfClaim, now: string, ...states: ClaimState[]): void {
  const isHeld = states.some((state) => {
    const task = state.row('task', taskId)
    return task?.projectId === state.projectId && task.claimSeq === seq && isLive(task, now)
  })
  if (!isHeld) throw claimEnded()
}
