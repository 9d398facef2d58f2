import { type Static, Type } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { maxSeq } from '../../events/parameters.ts'
import { read, write } from '../requests.ts'
import { type Call, type Tool, ToolError } from '../tool.ts'
import { Count, leaseRange, maxLeaseSeconds, ProjectName, RepeatKey, TaskId, taskPath } from './arguments.ts'

interface Task {
  claim: { until: string; seq: number } | null
}

const input = Input({
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
  inputSchema: input,
  scope: 'write',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  async run({ id, leaseSeconds, seq, key }: Static<typeof input>, call: Call) {
    const path = taskPath(id)
    const ifClaim = (seq: number) => ({ 'docket-if-claim': `${id} ${seq}` })
    if (!leaseSeconds) {
      const headers = seq === undefined ? undefined : ifClaim(seq)
      await write(call, { path: `${path}/release`, key, headers }, { key })
      return { id, claim: null }
    }
    // Without the seq, the request could begin a new claim after another worker had the task.
    const headers = ifClaim(seq ?? (await currentSeq(call, path)))
    const { body } = await write<Task>(
      call,
      { path: `${path}/claim`, body: { leaseSeconds }, key, headers },
      { key },
    )
    return { id, claim: body.claim }
  },
}

/** Returns the seq of the current claim. @throws ToolError 409 if the task has no claim */
async function currentSeq(call: Call, path: string): Promise<number> {
  const { body } = await read<Task>(call, path)
  if (body.claim) return body.claim.seq
  const advice =
    'Stop this work, because another worker may have had the task; claim_next returns a task to work on'
  throw new ToolError(409, 'The claim on the task has ended', advice)
}
