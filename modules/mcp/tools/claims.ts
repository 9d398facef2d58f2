import { Type } from '@sinclair/typebox'
import { maxSeq } from '../../events/parameters.ts'
import { maxAttempts } from '../../tasks/schema.ts'
import { ClaimNextBody, maxWaitSeconds, ReleaseTaskBody } from '../../work-queue/schema.ts'
import { shownTask, type Task, withoutEmpty } from '../answers/rows.ts'
import { isReplayed } from '../call.ts'
import { namesOf } from '../names.ts'
import { tool, ToolError } from '../tool.ts'
import {
  Count,
  Flag,
  LabelNames,
  ProjectName,
  Range,
  RepeatKey,
  TaskId,
  taskPath,
  UserName,
} from './arguments.ts'

const { priority, leaseSeconds } = ClaimNextBody.properties
const { reason } = ReleaseTaskBody.properties
const maxLeaseSeconds = leaseSeconds.maximum!
const leaseRange = ` of seconds from ${leaseSeconds.minimum} to ${maxLeaseSeconds}`

export const claimNext = tool({
  name: 'claim_next',
  description:
    'Claim the first ready task: not DONE, not claimed, not blocked. No other agent gets the task until the claim ends.',
  scope: 'write',
  hints: { destructiveHint: false, idempotentHint: false },
  input: {
    project: ProjectName,
    leaseSeconds: { ...leaseSeconds, description: `A whole number${leaseRange}` },
    priority,
    wait: Range(0, maxWaitSeconds, 'seconds to wait for a ready task'),
    labels: LabelNames('all'),
    anyLabel: LabelNames('at least one'),
    assigneeId: UserName(),
    maxAttempts: Count(1, maxAttempts, ': skip tasks with this many attempts'),
    key: RepeatKey,
  },
  async run({ project, key, wait, ...filter }, call) {
    const body = { ...filter, wait: wait || undefined }
    const answer = await call.post<Task | undefined>(`/projects/${project}/claim-next`, { body, key })
    if (!answer.body) return { task: null, do: 'No task is ready. Call again with wait: 25, or stop' }
    // An error would hide the claim, so the answer then shows ids in place of names.
    const names = await namesOf(call, project).catch(() => new Map())
    return { ...isReplayed(answer), task: withoutEmpty(shownTask(answer.body, 'full', names)) }
  },
})

export const extendOrRelease = tool({
  name: 'extend_or_release',
  description:
    'Extend your claim on a task, or release it. Setting the task DONE with apply also ends the claim.',
  scope: 'write',
  hints: { destructiveHint: false, idempotentHint: true },
  input: {
    id: TaskId(),
    leaseSeconds: Count(0, maxLeaseSeconds, `${leaseRange}, or 0: 0 or missing releases the task`),
    failed: Flag('the released task has failed: count an attempt'),
    reason: Type.Optional({ ...reason, description: 'A text: why the task is released' }),
    seq: Count(1, maxSeq, ', `claim.seq` of the task: reject if this claim has ended'),
    project: Type.Optional(ProjectName),
    key: RepeatKey,
  },
  async run({ id, leaseSeconds, failed, reason, key, ...given }, call) {
    const path = taskPath(id)
    let { seq } = given
    if (leaseSeconds && seq === undefined) {
      // Without the seq, the request could begin a new claim after another worker had the task.
      const { body } = await call.get<Task>(path)
      if (!body.claim) throw claimEnded()
      seq = body.claim.seq
    }
    const headers = seq === undefined ? undefined : { 'docket-if-claim': `${id} ${seq}` }
    const [action, body] = leaseSeconds ? ['claim', { leaseSeconds }] : ['release', { failed, reason }]
    const answer = await call.post<Task>(`${path}/${action}`, { body, key, headers })
    return { id, claim: leaseSeconds ? answer.body.claim : null }
  },
})

const claimEnded = () =>
  new ToolError(
    409,
    'The claim on the task has ended',
    'Stop this work, because another worker may have had the task; claim_next returns a task to work on',
  )
