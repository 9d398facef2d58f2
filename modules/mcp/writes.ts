import { Type } from '@sinclair/typebox'
import { maxOperations } from '../../src/batch/operation-schema.ts'
import { conflict } from '../../src/responses/errors.ts'
import { maxSeq } from '../../src/schema/input.ts'
import { maxAttempts } from '../tasks/schema.ts'
import { ClaimNextBody, maxWaitSeconds, ReleaseTaskBody } from '../work-queue/schema.ts'
import { ChangeKey, Count, DryRun, Flag, LabelNames, operationsText } from './tool.ts'
import { optional, ProjectName, Range, RepeatKey, TaskId, taskPath, UserName } from './tool.ts'
import { tool, withQuery } from './tool.ts'
import { type Event, shownTask, type Task } from './shown.ts'

const about = `A list of 1 to ${maxOperations} operations: all are done, or none. Each is {op, …fields}. as: a name of the row; later operations use #name as its id. was: {field: value} rejects the call if the row has other values, ifMatch: etag of get if it has changed. fields: {key: value} of custom fields. The tool projects shows the ids of users, members, labels, custom fields and views. * required, [] list; null clears.
${operationsText()}`

const hints = { destructiveHint: true, idempotentHint: true }

export const apply = tool({
  name: 'apply',
  description:
    'Change a project in one commit. The answer contains `batch`, the argument of undo, and `ids`: the id of the row of each operation.',
  scope: 'write',
  hints,
  input: {
    project: ProjectName,
    operations: Type.Array(Type.Object({ op: Type.String() }), {
      ...{ minItems: 1, maxItems: maxOperations },
      description: about,
    }),
    key: ChangeKey,
    dryRun: DryRun,
    ifVersion: Count(0, maxSeq, ': reject unless the project has this version'),
    ifClaim: optional(
      Type.Object(
        { taskId: Type.String(), seq: Type.Integer({ minimum: 1 }) },
        { additionalProperties: false, description: 'An object: reject if this claim has ended' },
      ),
    ),
  },
  async run({ project, operations, key, dryRun, ...conditions }, call) {
    const path = withQuery(`/projects/${project}/batch`, { dryRun })
    const body = { ...conditions, operations }
    const answer = await call.post<Batch>(path, { body, key: keyOf(key, dryRun) })
    const { version, batch = null, results } = answer.body
    if (dryRun) return { dryRun, version, operations: results.length }
    return { version, batch, ids: results.map(({ id }) => id) }
  },
})

/** A dry run has no key, so that the real call can use the key. */
const keyOf = (key: string, dryRun?: boolean) => (dryRun ? undefined : key)

interface Batch {
  version: number
  results: { id: string }[]
  batch?: number
}

/** The maximum number of rows that an answer of undo lists. */
const maxRows = 100

export const undo = tool({
  name: 'undo',
  description:
    'Undo an apply, an undo or a single change, in one commit. Rejected if a later change has set the same fields.',
  scope: 'write',
  hints,
  input: {
    project: ProjectName,
    batch: Type.Integer({
      minimum: 1,
      description: 'A whole number, `batch` of an answer of apply or undo, or of an event',
    }),
    key: ChangeKey,
    dryRun: DryRun,
  },
  async run({ project, batch, key, dryRun }, call) {
    const path = withQuery(`/projects/${project}/undo`, { dryRun })
    const options = { body: { batch }, key: keyOf(key, dryRun) }
    const answer = await call.post<{ version: number; changes: Event[] }>(path, options)
    const { version, changes } = answer.body
    const rows = changes.slice(0, maxRows).map(({ type, entityId }) => ({ type, id: entityId }))
    const first = changes[0]!.seq
    // `changes` may omit the last events, but the versions count all events.
    const events = dryRun ? changes.length : version - first + 1
    return { ...(dryRun ? { dryRun } : { batch: first }), version, events, rows }
  },
})

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
    return { task: shownTask(answer.body, 'full') }
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
    reason: optional({ ...reason, description: 'A text: why the task is released' }),
    seq: Count(1, maxSeq, ', `claim.seq` of the task: reject if this claim has ended'),
    project: optional(ProjectName),
    key: RepeatKey,
  },
  async run({ id, leaseSeconds, failed, reason, key, ...given }, call) {
    const path = taskPath(id)
    let { seq } = given
    if (leaseSeconds && seq === undefined) {
      // Without the seq, the request could begin a new claim after another worker had the task.
      const { body } = await call.get<Task>(path)
      if (!body.claim) throw conflict('The claim on the task has ended', { code: 'claim-ended' })
      seq = body.claim.seq
    }
    const headers = seq === undefined ? undefined : { 'docket-if-claim': `${id} ${seq}` }
    const [action, body] = leaseSeconds ? ['claim', { leaseSeconds }] : ['release', { failed, reason }]
    const answer = await call.post<Task>(`${path}/${action}`, { body, key, headers })
    return { id, claim: leaseSeconds ? answer.body.claim : null }
  },
})
