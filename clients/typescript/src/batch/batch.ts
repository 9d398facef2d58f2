import type { BodyOf, ResultOf } from '../calls/types.ts'
import type { Transport, WriteOptions } from '../transport.ts'
import { operationsOf } from './operations.ts'
import type { BatchBuilder } from './types.ts'

type BatchBody = BodyOf<'batchProject'>

export interface BatchOptions extends Pick<
  WriteOptions,
  'signal' | 'deadlineMs' | 'idempotencyKey' | 'ifClaim'
> {
  /** Checks the batch and returns its result, but commits nothing. */
  dryRun?: boolean
  /** The batch fails with 412 unless the project has this version. */
  ifVersion?: number
  /** `full` returns whole resources in place of ids and ETags. */
  return?: 'minimal' | 'full'
}

export type BatchOutcome = ResultOf<'batchProject'>
export type BuildBatch = (batch: BatchBuilder) => unknown

/** Commits the operations that `build` adds, all or none. @throws DocketError with the index of the rejected operation */
export async function sendBatch(
  transport: Transport,
  projectId: string,
  build: BuildBatch,
  { dryRun, ifVersion, return: wanted, ...options }: BatchOptions = {},
): Promise<BatchOutcome> {
  const operations = (await operationsOf(build)) as BatchBody['operations']
  const body = { ...(ifVersion !== undefined && { ifVersion }), operations }
  const query = { dryRun, return: wanted }
  const path = `/projects/${projectId}/batch`
  return (await transport.request<BatchOutcome>('POST', path, { ...options, query, body })).body
}
