import { Type } from '@sinclair/typebox'
import { maxOperations } from '../../../src/batch/operation-schema.ts'
import { HttpError } from '../../../src/responses/errors.ts'
import { maxSeq } from '../../events/parameters.ts'
import type { Event } from '../answers/rows.ts'
import { fittingFrom } from '../answers/pages.ts'
import { type Call, isReplayed, withQuery } from '../call.ts'
import { withIds } from '../names.ts'
import { tool, ToolError } from '../tool.ts'
import { ChangeKey, Count, DryRun, NextNumber, ProjectName } from './arguments.ts'
import { operationsText, withTextFlags } from './operations.ts'

const about = `A list of 1 to ${maxOperations} operations: all are done, or none. Each is {op, …fields}. as: a name of the row; later operations use #name as its id. was: {field: value} rejects the call if the row has other values, ifMatch: etag of get if it has changed. fields: {key: value} of custom fields. In place of the id of a user, label, custom field or view, its name is allowed. * required, [] list; null clears.
${operationsText()}`

const hints = { destructiveHint: true, idempotentHint: true }

interface Operation {
  op: string
  as?: string
}

export const apply = tool({
  name: 'apply',
  description:
    'Change a project in one commit. The answer contains `batch`, the argument of undo, and the ids of new rows.',
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
    ifClaim: Type.Optional(
      Type.Object(
        { taskId: Type.String(), seq: Type.Integer({ minimum: 1 }) },
        { additionalProperties: false, description: 'An object: reject if this claim has ended' },
      ),
    ),
    next: NextNumber,
  },
  async run({ project, operations, key, dryRun, next, ...conditions }, call) {
    const content = { ...conditions, operations }
    const path = withQuery(`/projects/${project}/batch`, { dryRun })
    const send = (own: object) =>
      call.post<Batch>(path, { body: { ...content, ...own }, content, key: keyOf(key, dryRun) })
    const answer = await withIdsInOperations(call, project, operations).then(
      (resolved) => send({ operations: resolved }),
      (error: unknown) => earlierAnswer(send, error),
    )
    const { version, batch = null, results } = answer.body
    if (dryRun) return { dryRun, version, operations: results.length }
    return { version, batch, ...isReplayed(answer), ...pageOfRows(operations, results, Number(next ?? 0)) }
  },
})

/** A dry run has no key, so that the real call can use the key. */
const keyOf = (key: string, dryRun?: boolean) => (dryRun ? undefined : key)

async function withIdsInOperations(call: Call, project: string, operations: Operation[]): Promise<object[]> {
  const resolved: object[] = []
  for (const [n, one] of operations.entries())
    resolved.push(await withIds(call, project, withTextFlags(one), { op: one.op, path: `operations[${n}].` }))
  return resolved
}

/** Returns the stored answer if the call is a retry, although its names may not exist any more. Otherwise throws `error`. */
async function earlierAnswer<T>(send: (own: object) => Promise<T>, error: unknown): Promise<T> {
  try {
    // No project has this version, so the service rejects a call that is not a retry.
    return await send({ ifVersion: maxSeq })
  } catch (other) {
    throw other instanceof HttpError && [400, 404, 412].includes(other.status) ? error : other
  }
}

interface Batch {
  version: number
  results: { id: string; number?: number }[]
  batch?: number
}

/** Returns the ids of new rows from `start` on: `ids` by the `as` of operations, `rows` without `as`. */
function pageOfRows(operations: Operation[], results: Batch['results'], start: number): object {
  const all = results.flatMap(({ id, number }, operation) => {
    const { as, ...fields } = operations[operation]!
    return as === undefined && Object.values(fields).includes(id) ? [] : [{ operation, as, id, number }]
  })
  const page = fittingFrom(all, start)
  const ids = page.flatMap(({ as, id }) => (as === undefined ? [] : [[as, id] as const]))
  const rows = page.filter(({ as }) => as === undefined)
  const end = start + page.length
  return {
    ...(ids.length > 0 && { ids: Object.fromEntries(ids) }),
    ...(rows.length > 0 && { rows }),
    ...(end < all.length && { next: String(end) }),
  }
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
      description: 'A whole number, `batch` of an answer of apply or undo, or batch or seq of an event',
    }),
    key: ChangeKey,
    dryRun: DryRun,
  },
  async run({ project, batch, key, dryRun }, call) {
    const body = await selectionOf(call, project, batch)
    const path = withQuery(`/projects/${project}/undo`, { dryRun })
    const options = { body, content: { batch }, key: keyOf(key, dryRun) }
    const answer = await call.post<{ version: number; changes: Event[] }>(path, options)
    const { version, changes } = answer.body
    const rows = changes.slice(0, maxRows).map(({ type, entityId }) => ({ type, id: entityId }))
    const first = changes[0]!.seq
    // `changes` may omit the last events, but the versions count all events.
    const events = dryRun ? changes.length : version - first + 1
    return { ...(dryRun ? { dryRun } : { batch: first }), version, ...isReplayed(answer), events, rows }
  },
})

/** Returns the body of an undo: a single change has no batch, only a seq. @throws ToolError 409 for one change of a batch */
async function selectionOf(call: Call, project: string, batch: number): Promise<object> {
  const path = `/projects/${project}/events?after=${batch - 1}&limit=1`
  const { body } = await call.get<Event[]>(path).catch((error: unknown) => {
    // The event does not exist yet, or has expired. The undo itself returns the error.
    if (error instanceof HttpError && [400, 410].includes(error.status)) return { body: [] }
    throw error
  })
  const [event] = body
  if (event?.seq !== batch || event.batch === batch) return { batch }
  if (event.batch === null) return { seq: batch }
  const message = `The event ${batch} is a part of batch ${event.batch}`
  const advice = `Pass batch: ${event.batch} to undo the whole batch`
  throw new ToolError(409, message, advice, { batch: event.batch })
}
