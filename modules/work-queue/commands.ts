import { command, ofTask } from '../../src/commands/command.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { isLive, noClaim } from '../../src/model/claims.ts'
import { updated } from '../../src/model/events.ts'
import type { AccountKey } from '../../src/reads/people.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import { taskView } from '../tasks/schema.ts'
import { claim, claimedByOther, requireHolder, taskIsDone } from './claim.ts'
import { ClaimTask, ReleaseTask } from './schema.ts'

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
  about: 'Ends the claim of the caller. Without a claim, nothing changes.',
  input: ReleaseTask,
  target: ofTask(),
  role: 'EDITOR',
  decide(state, context, { id }) {
    const task = state.requireRow('task', id)
    requireMatch(context, task)
    requireHolder(state, context, task)
    if (!isLive(task, context.now)) return { changes: [], answer: task }
    const change = updated(state, context, 'task.released', task, { ...noClaim, updatedAt: context.now })
    return { changes: [change], answer: change.after }
  },
  view: taskView,
  errors: [sampleConflict()],
})
