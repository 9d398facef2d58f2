import { type Static, Type } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { projectIdOf } from '../names/name-lookup.ts'
import { type Call, type Tool, ToolError } from '../tool.ts'
import { isReplayed, successful, write } from '../requests.ts'
import { DryRun, Key, ProjectName } from './arguments.ts'

const input = Input({
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

/** The most rows that an answer lists. */
const maxRows = 100

export const undo: Tool = {
  name: 'undo',
  description:
    'Undo an apply, an undo or a single change, in one commit. Rejected if a later change has set the same fields.',
  inputSchema: input,
  scope: 'write',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  async run({ project, batch, key, dryRun }: Static<typeof input>, call: Call) {
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
