import { command, inProject, ofTask } from '../../src/commands/command.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { isLive, noClaim } from '../../src/model/claims.ts'
import { updated } from '../../src/model/events.ts'
import type { AccountKey } from '../../src/reads/people.ts'
import { factQuery } from '../../src/model/facts.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import { taskView } from '../tasks/schema.ts'
import { claim, claimedByOther, requireHolder, taskIsDone } from './claim.ts'
import { firstReady } from './first-ready.ts'
import { hasOnlyIds, readyTasks } from './ready-tasks.ts'
import { ClaimNextBody, ClaimNextTask, ClaimTask, ReleaseTask } from './schema.ts'

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

const invalidAssignee = () => badRequest('assigneeId must be the id of a user')
const invalidLabels = (name: string) => badRequest(`${name} must be the ids of labels in the project`)

export const claimNextTask = command('task.claim_next', {
  operation: { id: 'claimNextTask', tag: 'Tasks' },
  about:
    'Claims the first task that is ready: not DONE, not claimed, and without a blocker that is left to do. Tasks of a higher priority come first, then tasks that are first in the order of the project. Each task is claimed once, however many workers ask. Without a ready task the response is 204; with `wait` the request waits until a task is ready. A repeat under an Idempotency-Key gets the same task; a response 204 is not stored.',
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
    const task = firstReady(state, context.now, filter)
    return task
      ? claim(state, context, task, leaseSeconds)
      : { changes: [], answer: undefined, isProvisional: true }
  },
  view: taskView,
  errors: [invalidLabels('labels'), invalidAssignee()],
})
