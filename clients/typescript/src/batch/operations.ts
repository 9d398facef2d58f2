import { Reference } from './reference.ts'
import type { BatchBuilder } from './types.ts'

type Input = Record<string, unknown>

/** Returns the operations that `build` adds. A reference becomes `#name`, and its operation gets the `as` with this name. */
export async function operationsOf(build: (batch: BatchBuilder) => unknown): Promise<object[]> {
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
