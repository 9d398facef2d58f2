import { Reference } from './reference.ts'
import type { BatchBuilder } from './types.ts'

type Input = Record<string, unknown>

/** Returns the operations that `build` adds, with `as` and `#name` in place of references. */
export async function operationsOf(build: (batch: BatchBuilder) => unknown): Promise<object[]> {
  const operations: Input[] = []
  await build(builderOf(operations))
  const named = new Set<number>()
  const plain = (value: unknown): unknown => {
    if (value instanceof Reference) {
      const index = value.indexIn(operations)
      named.add(index)
      return `#${nameOf(index)}`
    }
    if (Array.isArray(value)) return value.map(plain)
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]))
  }
  const sent = operations.map((operation) => plain(operation) as Input)
  return sent.map(({ op, ...input }, i) => ({ op, ...(named.has(i) && { as: nameOf(i) }), ...input }))
}

const nameOf = (index: number) => `op${index}`

function builderOf(operations: Input[]): BatchBuilder {
  const methods = (entity: string) =>
    named((verb) => (input: Input = {}) => {
      const index = operations.push({ ...input, op: `${snake(entity)}.${snake(verb)}` }) - 1
      return new Reference(operations, index)
    })
  return named(methods) as unknown as BatchBuilder
}

/** Returns an object whose properties `of` computes from their names. */
const named = <Value>(of: (name: string) => Value): Record<string, Value> =>
  new Proxy<Record<string, Value>>({}, { get: (_, name) => of(String(name)) })

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
