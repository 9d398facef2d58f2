import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import type { Decision } from '../../src/log/rule.ts'
import { isLive, noClaim } from '../../src/model/claims.ts'
import { updated } from '../../src/model/events.ts'
import { conflict } from '../../src/responses/errors.ts'

export const taskIsDone = () => conflict('A task that is DONE cannot be claimed')
export const claimedByOther = (name: string | undefined, until: string) =>
  conflict(`${name ?? 'A deleted account'} holds a claim on the task until ${until}`)

/** @throws HttpError 409 if another account holds a live claim */
export function requireHolder(state: ProjectState, { caller, now }: RuleContext, task: TaskRow): void {
  const { claimedBy, claimedUntil } = task
  if (isLive(task, now) && claimedBy !== caller.userId)
    throw claimedByOther(state.people.get(claimedBy!)?.name, claimedUntil!)
}

/**
 * Extends the account's live claim, without a new seq, or begins a claim. If the previous claim has ended, an event
 * records first that the claim has expired.
 */
export function claim(
  state: ProjectState,
  context: RuleContext,
  task: TaskRow,
  leaseSeconds: number,
): Decision<TaskRow> {
  const { caller, now: updatedAt } = context
  const claimedUntil = new Date(Date.parse(updatedAt) + leaseSeconds * 1_000).toISOString()
  if (isLive(task, updatedAt)) {
    const extended = updated(state, context, 'task.claimed', task, { claimedUntil, updatedAt })
    return { changes: [extended], answer: extended.after }
  }
  // The event `task.claimed` gets the command's id, because the response shows the row of this event.
  const ids = { newEventId: () => context.newId() }
  const expired = task.claimedBy
    ? [updated(state, ids, 'task.claim_expired', task, { ...noClaim, updatedAt })]
    : []
  const claimSeq = state.version + expired.length + 1
  const fields = { claimedBy: caller.userId, claimedUntil, claimSeq, updatedAt }
  const claimed = updated(state, context, 'task.claimed', expired[0]?.after ?? task, fields)
  return { changes: [...expired, claimed], answer: claimed.after }
}
