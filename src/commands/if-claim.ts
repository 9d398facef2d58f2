import type { ProjectState } from '../actor/state.ts'
import { isLive } from '../model/claims.ts'
import { HttpError } from '../responses/errors.ts'

/** A write runs only while the claim with this seq holds the task. */
export interface IfClaim {
  taskId: string
  seq: number
}

export const claimEnded = () =>
  new HttpError(412, 'The claim with this seq has ended', {}, { code: 'claim-ended' })

/** Runs in the actor, so the claim cannot end before the commit. A move may name a claim in either project. */
export function requireClaim({ taskId, seq }: IfClaim, now: string, ...states: ProjectState[]): void {
  const isHeld = states.some((state) => {
    const task = state.row('task', taskId)
    return task?.projectId === state.projectId && task.claimSeq === seq && isLive(task, now)
  })
  if (!isHeld) throw claimEnded()
}
