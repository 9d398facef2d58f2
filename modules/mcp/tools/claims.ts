import { type Static, Type } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { maxSeq } from '../../events/parameters.ts'
import { ClaimNextBody, maxWaitSeconds } from '../../work-queue/schema.ts'
import { openNames } from '../answers/names.ts'
import { withoutEmpty, shownTask, type Task } from '../answers/tasks.ts'
import { projectIdOf, openWithIds } from '../names/references.ts'
import { isReplayed, write, read } from '../requests.ts'
import { type Call, type Tool, ToolError } from '../tool.ts'
import {
  Count,
  LabelNames,
  leaseRange,
  ProjectName,
  RepeatKey,
  UserName,
  maxLeaseSeconds,
  TaskId,
  taskPath,
} from './arguments.ts'

const { priority, leaseSeconds } = ClaimNextBody.properties

const input = Input({
  project: ProjectName,
  leaseSeconds: { ...leaseSeconds, description: leaseRange },
  priority,
  wait: Count(
    0,
    maxWaitSeconds,
    `A whole number from 0 to ${maxWaitSeconds}: seconds to wait for a ready task`,
  ),
  labels: LabelNames('all'),
  anyLabel: LabelNames('at least one'),
  assigneeId: UserName,
  key: RepeatKey,
})

const noneReady = 'No task is ready. Call again with wait: 25, or stop'

export const claimNext: Tool = {
  name: 'claim_next',
  description:
    'Claim the first ready task: not DONE, not claimed, not blocked. No other agent gets the task until the claim ends.',
  inputSchema: input,
  scope: 'write',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  async run({ project, key, wait, ...filter }: Static<typeof input>, call: Call) {
    const projectId = await projectIdOf(call, project)
    const body = { ...(await openWithIds(call, projectId)(filter)), wait: wait || undefined }
    const answer = await write<Task | undefined>(
      call,
      { path: `/projects/${projectId}/claim-next`, body, key },
      { key },
    )
    if (!answer.body) return { task: null, do: noneReady }
    // An error would hide the claim, so the answer then shows ids in place of names.
    const names = await openNames(call)(projectId).catch(() => new Map())
    return { ...isReplayed(answer), task: withoutEmpty(shownTask(answer.body, 'full', names)) }
  },
}

interface Claimed {
  claim: { until: string; seq: number } | null
}

const extension = Input({
  id: TaskId(),
  leaseSeconds: Count(0, maxLeaseSeconds, `${leaseRange}, or 0: 0 or missing releases the task`),
  seq: Count(1, maxSeq, 'A whole number, `claim.seq` of the task: reject if this claim has ended'),
  project: Type.Optional(ProjectName),
  key: RepeatKey,
})

export const extendOrRelease: Tool = {
  name: 'extend_or_release',
  description:
    'Extend your claim on a task, or release it. Setting the task DONE with apply also ends the claim.',
  inputSchema: extension,
  scope: 'write',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  async run({ id, leaseSeconds, seq, key }: Static<typeof extension>, call: Call) {
    const path = taskPath(id)
    const ifClaim = (seq: number) => ({ 'docket-if-claim': `${id} ${seq}` })
    if (!leaseSeconds) {
      const headers = seq === undefined ? undefined : ifClaim(seq)
      await write(call, { path: `${path}/release`, key, headers }, { key })
      return { id, claim: null }
    }
    // Without the seq, the request could begin a new claim after another worker had the task.
    const headers = ifClaim(seq ?? (await currentSeq(call, path)))
    const { body } = await write<Claimed>(
      call,
      { path: `${path}/claim`, body: { leaseSeconds }, key, headers },
      { key },
    )
    return { id, claim: body.claim }
  },
}

/** Returns the seq of the current claim. @throws ToolError 409 if the task has no claim */
async function currentSeq(call: Call, path: string): Promise<number> {
  const { body } = await read<Claimed>(call, path)
  if (body.claim) return body.claim.seq
  const advice =
    'Stop this work, because another worker may have had the task; claim_next returns a task to work on'
  throw new ToolError(409, 'The claim on the task has ended', advice)
}
