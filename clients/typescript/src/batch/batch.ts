import type { BodyOf, ResultOf } from '../calls/types.ts'
import type { Transport, WriteOptions } from '../transport.ts'
import type { BatchBuilder } from './types.ts'
import { Reference } from './reference.ts'

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

type Input = Record<string, unknown>

/** Returns the operations that `build` adds. A reference becomes `#name`, and its operation gets the `as` with this name. */
async function operationsOf(build: (batch: BatchBuilder) => unknown): Promise<object[]> {
  const operations: Input[] = []
  await build(builderOf(operations))
  const referenced = new Set<number>()
  const withoutReferences = (value: unknown): unknown => {
    if (value instanceof Reference) {
      const index = value.indexIn(operations)
      referenced.add(index)
      return `#${nameOf(index)}`
    }
    if (Array.isArray(value)) return value.map(withoutReferences)
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutReferences(one)]))
  }
  const sent = operations.map((operation) => withoutReferences(operation) as Input)
  return sent.map(({ op, ...input }, i) => ({ op, ...(referenced.has(i) && { as: nameOf(i) }), ...input }))
}

const nameOf = (index: number) => `op${index}`

function builderOf(operations: Input[]): BatchBuilder {
  const methods = (entity: string) =>
    withComputedProperties((verb) => (input: Input = {}) => {
      const index = operations.push({ ...input, op: `${snake(entity)}.${snake(verb)}` }) - 1
      return new Reference(operations, index)
    })
  return withComputedProperties(methods) as unknown as BatchBuilder
}

/** Returns an object whose properties `valueOf` computes from their names. */
const withComputedProperties = <Value>(valueOf: (name: string) => Value): Record<string, Value> =>
  new Proxy<Record<string, Value>>({}, { get: (_, name) => valueOf(String(name)) })

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
