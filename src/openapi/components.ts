import { isDeepStrictEqual } from 'node:util'
import { nameOf } from '../schema/named.ts'
import { shortened } from './nullable.ts'

interface Document {
  components?: object
}

/**
 * Takes each named schema out of a document, and leaves a reference wherever it stood.
 * @throws Error when two have one name
 */
export function componentsOf<T extends Document>(
  document: T,
): { whole: T; schemas: Record<string, unknown> } {
  const schemas = new Map<string, object>()

  function refer(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(refer)
    if (typeof value !== 'object' || value === null) return value
    const part = shortened(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, refer(one)])))
    const name = nameOf(value)
    if (name === undefined) return part
    const known = schemas.get(name) ?? part
    if (!isDeepStrictEqual(known, part)) throw new Error(`The document has two schemas called ${name}`)
    schemas.set(name, known)
    return { $ref: `#/components/schemas/${name}` }
  }

  const whole = refer(document) as T
  const sorted = [...schemas].sort(([a], [b]) => (a < b ? -1 : 1))
  return { whole, schemas: Object.fromEntries(sorted) }
}
