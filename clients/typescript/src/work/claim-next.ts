import type { BodyOf } from '../calls/types.ts'
import type { Task } from '../schemas.ts'
import type { Transport, WriteOptions } from '../transport.ts'

export type ClaimNext = BodyOf<'claimNextTask'>
export type ClaimOptions = Pick<WriteOptions, 'signal' | 'deadlineMs' | 'idempotencyKey'>

/** The time for the answer after the wait, in milliseconds. */
const graceMs = 60_000

/** Claims the next ready task; waits for one up to `wait` seconds. Returns undefined if no task is ready. */
export async function claimNext(
  transport: Transport,
  projectId: string,
  body: ClaimNext,
  options: ClaimOptions = {},
): Promise<Task | undefined> {
  const path = `/projects/${projectId}/claim-next`
  const deadlineMs = options.deadlineMs ?? (body.wait ?? 0) * 1_000 + graceMs
  return (await transport.request<Task | undefined>('POST', path, { ...options, deadlineMs, body })).body
}
