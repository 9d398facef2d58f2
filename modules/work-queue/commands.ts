import { command, inProject, ofTask, type RuleContext } from '../../src/commands/command.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { failedClaim, isLive, noClaim } from '../../src/model/claims.ts'
import { updated, type Decision } from '../../src/model/events.ts'
import type { AccountKey } from '../../src/reads/people.ts'
import { factQuery } from '../../src/model/definition.ts'
import { invalid, conflict } from '../../src/responses/errors.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import { taskView } from '../tasks/schema.ts'
import { findReady, hasOnlyIds, readyTasks } from './ready-tasks.ts'
import { ClaimNextBody, ClaimNextTask, ClaimTask, ReleaseTask, ReleaseTaskBody } from './schema.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { Outcome } from '../../src/log/rows.ts'

const taskIsDone = () => conflict('A task that is DONE cannot be claimed')
const claimedByOther = (name: string | undefined, until: string) =>
  conflict(`${name ?? 'A deleted account'} holds a claim on the task until ${until}`)

/** @throws HttpError 409 if another account holds a live claim */
function requireHolder(state: ProjectState, { caller, now }: RuleContext, task: TaskRow): void {
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
    ? [updated(state, ids, 'task.claim_expired', task, { ...failedClaim(task), updatedAt })]
    : []
  const claimSeq = state.version + expired.length + 1
  const fields = { claimedBy: caller.userId, claimedUntil, claimSeq, updatedAt }
  const claimed = updated(state, context, 'task.claimed', expired[0]?.after ?? task, fields)
  return { changes: [...expired, claimed], answer: claimed.after }
}

const holder = (_: object, { userId }: Caller): AccountKey => ({ by: 'id', key: userId })
const sampleConflict = () => claimedByOther('Ada Lovelace', '2027-01-15T09:30:00.000Z')

export const claimTask = command('task.claim', {
  about:
    'Claims the task for the account of the caller. The claim ends when `leaseSeconds` are over, when the task is released, DONE or deleted, or when it moves to another project. The holder repeats the request to extend the claim, which keeps its `seq`. While another account holds a claim, the request gets 409.',
  input: ClaimTask,
  target: ofTask(),
  role: 'EDITOR',
  person: holder,
  decide(state, context, { id, leaseSeconds }) {
    const task = state.requireRow('task', id)
    requireMatch(context, task)
    requireHolder(state, context, task)
    if (task.status === 'DONE') throw taskIsDone()
    return claim(state, context, task, leaseSeconds)
  },
  view: taskView,
  errors: [taskIsDone(), sampleConflict()],
})

export const releaseTask = command('task.release', {
  about:
    'Ends the claim of the caller. Without a claim, nothing changes. The event `task.released` contains `failed` and `reason`.',
  input: ReleaseTask,
  body: ReleaseTaskBody,
  target: ofTask(),
  role: 'EDITOR',
  decide(state, context, { id, failed = false, reason }) {
    const task = state.requireRow('task', id)
    requireMatch(context, task)
    requireHolder(state, context, task)
    if (!isLive(task, context.now)) return { changes: [], answer: task }
    const fields = failed ? failedClaim(task) : noClaim
    const change = updated(state, context, 'task.released', task, { ...fields, updatedAt: context.now })
    const outcome = { failed, reason: reason?.trim() || null }
    const after: TaskRow & Outcome = { ...change.after, outcome }
    return { changes: [{ ...change, after }], answer: change.after }
  },
  view: taskView,
  errors: [sampleConflict()],
})

const invalidAssignee = () => invalid('assigneeId', 'must be the id of a user')
const invalidLabels = (name: string) => invalid(name, 'must be the ids of labels in the project')

export const claimNextTask = command('task.claim_next', {
  operation: { id: 'claimNextTask', tag: 'Tasks' },
  about:
    'Claims the first task that is ready: not DONE, not claimed, and without a blocker that is left to do. Tasks of a higher priority come first, then tasks that are first in the order of the project. Each task is claimed once, however many workers ask. A batch claims tasks that were ready before it, then tasks that it has created or changed. Without a ready task the response is 204; with `wait` the request waits until a task is ready. A repeat under an Idempotency-Key gets the same task; a response 204 is not stored.',
  input: ClaimNextTask,
  body: ClaimNextBody,
  target: inProject(),
  role: 'EDITOR',
  person: holder,
  does: 'add',
  emptyReply: 'No task is ready',
  preload: (filter) => ({ facts: [factQuery(readyTasks, filter)] }),
  decide(state, context, { leaseSeconds, ...filter }) {
    for (const name of ['labels', 'anyLabel'] as const)
      if (filter[name]?.some((id) => !state.row('label', id))) throw invalidLabels(name)
    if (!hasOnlyIds(filter)) throw invalidAssignee()
    const task = findReady(state, context.now, filter)
    return task
      ? claim(state, context, task, leaseSeconds)
      : { changes: [], answer: undefined, isProvisional: true }
  },
  view: taskView,
  errors: [invalidLabels('labels'), invalidAssignee()],
})
