import type { BodyOf } from '../calls/types.ts'
import type { Task } from '../schemas.ts'
import type { Transport, WriteOptions } from '../transport.ts'

type Body = BodyOf<'claimNextTask'>
export type ClaimOptions = Pick<WriteOptions, 'signal' | 'deadlineMs' | 'idempotencyKey'>
/** The options may also be fields of the filters. */
export interface ClaimNext extends Omit<Body, 'leaseSeconds'>, ClaimOptions {
  /** How long the claim lasts, in seconds; 60 by default, at least 10. */
  leaseSeconds?: number
}

export const defaultLeaseSeconds = 60

/** Claims the next ready task. Returns undefined if no task is ready within `wait` seconds. */
export async function claimNext(
  transport: Transport,
  projectId: string,
  { signal, deadlineMs, idempotencyKey, leaseSeconds = defaultLeaseSeconds, ...filters }: ClaimNext = {},
  last: ClaimOptions = {},
): Promise<Task | undefined> {
  const body = { leaseSeconds, ...filters }
  const options = { signal, deadlineMs, idempotencyKey, ...last }
  const path = `/projects/${projectId}/claim-next`
  const waitMs = (filters.wait ?? 0) * 1_000
  const request = { ...options, deadlineMs: options.deadlineMs ?? transport.deadlineMs + waitMs, body }
  return (await transport.request<Task | undefined>('POST', path, request)).body
}
