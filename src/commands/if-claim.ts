import type { ProjectState } from '../actor/state.ts'
import { canonicalId, isId } from '../id-format.ts'
import { isLive } from '../model/claims.ts'
import { badRequest, HttpError } from '../responses/errors.ts'

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

/** Runs in the actor, so the claim cannot end before the commit. A move may name a claim in either project. */
export function requireClaim({ taskId, seq }: IfClaim, now: string, ...states: ProjectState[]): void {
  const isHeld = states.some((state) => {
    const task = state.row('task', taskId)
    return task?.projectId === state.projectId && task.claimSeq === seq && isLive(task, now)
  })
  if (!isHeld) throw claimEnded()
}
