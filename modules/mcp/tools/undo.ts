import { type Static, Type } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { projectIdOf } from '../names/name-lookup.ts'
import { type Call, type Tool, ToolError } from '../tool.ts'
import { isReplayed, write } from '../write.ts'
import { Key, ProjectName } from './arguments.ts'

const input = Input({
  project: ProjectName,
  batch: Type.Integer({ minimum: 1, description: 'From apply or undo, or the batch or seq of an event' }),
  key: Key,
  dryRun: Type.Optional(Type.Boolean({ description: 'Check only' })),
})

interface Event {
  seq: number
  type: string
  entityId: string
  batch: number | null
}

/** The most changed rows in an answer. */
const maxRows = 100

export const undo: Tool = {
  name: 'undo',
  description:
    'Undo an apply, an undo or any single change, in one commit. Rejected if a later change set the same fields.',
  inputSchema: input,
  scope: 'write',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  async run({ project, batch, key, dryRun }: Static<typeof input>, call: Call) {
    const id = await projectIdOf(call, project)
    const body = await selectionOf(call, id, batch)
    const path = `/projects/${id}/undo${dryRun ? '?dryRun=true' : ''}`
    const request = { path, body, key: dryRun ? undefined : key }
    const answer = await write<{ version: number; changes: Event[] }>(call, request, { key })
    const { version, changes } = answer.body
    const rows = changes.slice(0, maxRows).map(({ type, entityId }) => ({ type, id: entityId }))
    const first = changes[0]!.seq
    // A long response omits the last changes.
    const events = dryRun ? changes.length : version - first + 1
    return { ...(dryRun ? { dryRun } : { batch: first }), version, ...isReplayed(answer), events, rows }
  },
}

/** A change that was the only one of its request has no batch. @throws ToolError 409 for a part of a batch */
async function selectionOf(call: Call, projectId: string, batch: number) {
  const path = `/projects/${projectId}/events?after=${batch - 1}&limit=1`
  const { status, body } = await call.request<Event[]>('GET', path)
  const [event] = status === 200 ? body : []
  if (event?.seq !== batch || event.batch === batch) return { batch }
  if (event.batch === null) return { seq: batch }
  const advice = `Pass batch: ${event.batch} to undo the whole batch`
  throw new ToolError(409, `Seq ${batch} is a part of the batch ${event.batch}`, advice, {
    batch: event.batch,
  })
}
