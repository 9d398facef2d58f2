import type { Static } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { ClaimNextBody, maxWaitSeconds } from '../../work-queue/schema.ts'
import { openNames } from '../answers/names.ts'
import { withoutEmpty, shownTask, type Task } from '../answers/tasks.ts'
import { projectIdOf } from '../names/name-lookup.ts'
import { openWithIds } from '../names/references.ts'
import type { Call, Tool } from '../tool.ts'
import { isReplayed, write } from '../requests.ts'
import { Count, LabelNames, leaseRange, ProjectName, RepeatKey, UserName } from './arguments.ts'

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
