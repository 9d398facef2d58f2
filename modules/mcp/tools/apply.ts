import { type Static, Type } from '@sinclair/typebox'
import { maxOperations } from '../../../src/batch/operation-schema.ts'
import { Input } from '../../../src/schema/input.ts'
import { Budget } from '../answers/pages.ts'
import { projectIdOf, openWithIds } from '../names/references.ts'
import { isReplayed, write, successful } from '../requests.ts'
import { type Sent, type ApiResponse, type Call, type Tool, ToolError } from '../tool.ts'
import { DryRun, Key, ProjectName } from './arguments.ts'
import { operationsText, withFlags } from './operations.ts'

const operations = `A list of 1 to ${maxOperations} operations: all are done, or none. Each is {op, …fields}. as: a name of the row; later operations use #name as its id. was: {field: value} rejects the call if the row has other values. fields: {key: value} of custom fields. In place of the id of a user, label, custom field or view, its name is allowed. * required, [] list; null clears.
${operationsText()}`

const input = Input({
  project: ProjectName,
  operations: Type.Array(Type.Object({ op: Type.String() }), {
    minItems: 1,
    maxItems: maxOperations,
    description: operations,
  }),
  key: Key,
  dryRun: DryRun,
  ifVersion: Type.Optional(
    Type.Integer({ minimum: 0, description: 'A whole number: reject unless the project has this version' }),
  ),
  ifClaim: Type.Optional(
    Type.Object(
      { taskId: Type.String(), seq: Type.Integer({ minimum: 1 }) },
      { additionalProperties: false, description: 'An object: reject if this claim has ended' },
    ),
  ),
  next: Type.Optional(
    Type.String({
      pattern: '^\\d{1,3}$',
      description: 'A text, `next` of the answer: repeat the other arguments',
    }),
  ),
})

interface Batch {
  version: number
  results: Result[]
  batch?: number
}

export const apply: Tool = {
  name: 'apply',
  description:
    'Change a project in one commit. The answer contains `batch`, the argument of undo, and the ids of new rows.',
  inputSchema: input,
  scope: 'write',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  async run({ project, operations, key, dryRun, next, ...conditions }: Static<typeof input>, call: Call) {
    const projectId = await projectIdOf(call, project)
    const path = `/projects/${projectId}/batch${dryRun ? '?dryRun=true' : ''}`
    // A dry run has no key, so that the real call can use the key.
    const sent: Sent = { key, operations, ifVersion: conditions.ifVersion }
    const request = { path, content: { ...conditions, operations }, key: dryRun ? undefined : key }
    const send = (operations: object[]) =>
      write<Batch>(call, { ...request, body: { ...conditions, operations } }, sent)
    const answer = await withIds(call, projectId, operations).then(send, (error) =>
      earlierAnswer(send, error),
    )
    const { version, batch = null, results } = answer.body
    if (dryRun) return { dryRun, version, operations: results.length }
    return { version, batch, ...isReplayed(answer), ...pageOfRows(operations, results, Number(next ?? 0)) }
  },
}

async function withIds(call: Call, projectId: string, operations: { op: string }[]): Promise<object[]> {
  const replace = openWithIds(call, projectId)
  const resolved: object[] = []
  for (const [n, one] of operations.entries())
    resolved.push(await replace(withFlags(one), one.op, `operations[${n}].`))
  return resolved
}

/** An operation that every project rejects with 404. */
const rejected = { op: 'task.delete', id: '00000000-0000-7000-8000-000000000000' }

/** Returns the stored response if the call is a retry, although its names may not exist any more. Otherwise throws `error`. */
const earlierAnswer = (send: (operations: object[]) => Promise<ApiResponse<Batch>>, error: unknown) =>
  send([rejected]).catch((other: unknown) => {
    throw other instanceof ToolError && other.status === 404 ? error : other
  })

interface Result {
  id: string
  number?: number
}

interface Page {
  /** The ids of rows by the `as` of their operations. */
  ids?: Record<string, string>
  /** The new rows without `as` and without an id from the caller. */
  rows?: (Result & { operation: number })[]
  /** The index of the next page's first operation. */
  next?: string
}

/** Returns the ids of new rows, from the operation `start` on. `next` is set if not all ids fit into the answer. */
function pageOfRows(operations: object[], results: Result[], start: number): Page {
  const ids = new Map<string, string>()
  const rows: Page['rows'] = []
  const budget = new Budget({})
  for (let n = start; n < results.length; n++) {
    const { as } = operations[n] as { as?: string }
    const { id, number } = results[n]!
    if (as === undefined && Object.values(operations[n]!).includes(id)) continue
    const row = { operation: n, id, number }
    if (!budget.add(as === undefined ? row : { [as]: id })) return { ...pageOf(ids, rows), next: String(n) }
    if (as === undefined) rows.push(row)
    else ids.set(as, id)
  }
  return pageOf(ids, rows)
}

const pageOf = (ids: Map<string, string>, rows: NonNullable<Page['rows']>): Page => ({
  ...(ids.size > 0 && { ids: Object.fromEntries(ids) }),
  ...(rows.length > 0 && { rows }),
})

const undoInput = Input({
  project: ProjectName,
  batch: Type.Integer({
    minimum: 1,
    description: 'A whole number, `batch` of an answer of apply or undo, or batch or seq of an event',
  }),
  key: Key,
  dryRun: DryRun,
})

interface Event {
  seq: number
  type: string
  entityId: string
  batch: number | null
}

/** The maximum number of rows that an answer lists. */
const maxRows = 100

export const undo: Tool = {
  name: 'undo',
  description:
    'Undo an apply, an undo or a single change, in one commit. Rejected if a later change has set the same fields.',
  inputSchema: undoInput,
  scope: 'write',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  async run({ project, batch, key, dryRun }: Static<typeof undoInput>, call: Call) {
    const id = await projectIdOf(call, project)
    const body = await selectionOf(call, id, batch)
    const path = `/projects/${id}/undo${dryRun ? '?dryRun=true' : ''}`
    const request = { path, body, content: { batch }, key: dryRun ? undefined : key }
    const answer = await write<{ version: number; changes: Event[] }>(call, request, { key })
    const { version, changes } = answer.body
    const rows = changes.slice(0, maxRows).map(({ type, entityId }) => ({ type, id: entityId }))
    const first = changes[0]!.seq
    // `changes` may omit the last events, but the versions count all events.
    const events = dryRun ? changes.length : version - first + 1
    return { ...(dryRun ? { dryRun } : { batch: first }), version, ...isReplayed(answer), events, rows }
  },
}

/** Returns the body of an undo: a single change has no batch, only a seq. @throws ToolError 409 for one change of a batch */
async function selectionOf(call: Call, projectId: string, batch: number) {
  const path = `/projects/${projectId}/events?after=${batch - 1}&limit=1`
  const answer = await call.request<Event[]>('GET', path)
  // The event does not exist yet (400), or has expired (410). Then the undo itself returns the error.
  const [event] = [400, 410].includes(answer.status) ? [] : successful(answer).body
  if (event?.seq !== batch || event.batch === batch) return { batch }
  if (event.batch === null) return { seq: batch }
  const advice = `Pass batch: ${event.batch} to undo the whole batch`
  throw new ToolError(409, `The event ${batch} is a part of batch ${event.batch}`, advice, {
    batch: event.batch,
  })
}
