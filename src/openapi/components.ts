import { isDeepStrictEqual } from 'node:util'
import { nameOf } from '../schema/named.ts'

/** Replaces each named schema of a document with a reference. */
export function componentsOf<T extends { components?: object }>(document: T) {
  const schemas = new Map<string, object>()

  function refer(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(refer)
    if (typeof value !== 'object' || value === null) return value
    const part = shortened(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, refer(one)])))
    const name = nameOf(value)
    if (name === undefined) return part
    const existing = schemas.get(name) ?? part
    if (!isDeepStrictEqual(existing, part)) throw new Error(`The document has two schemas called ${name}`)
    schemas.set(name, existing)
    return { $ref: `#/components/schemas/${name}` }
  }

  const referring = refer(document) as T
  const sorted = [...schemas].sort(([a], [b]) => (a < b ? -1 : 1))
  return { document: referring, schemas: Object.fromEntries(sorted) }
}

interface Schema {
  type?: unknown
  anyOf?: Schema[]
}

/** Writes `string | null` as one schema with two types, because generators handle that better than `anyOf`. */
function shortened<T extends object>(schema: T): T {
  const { anyOf, ...rest } = schema as Schema
  const [first, second, ...others] = anyOf ?? []
  if (typeof first?.type !== 'string' || second?.type !== 'null' || others.length > 0) return schema
  return { ...first, ...rest, type: [first.type, 'null'] } as object as T
}
