interface Schema {
  type?: unknown
  anyOf?: Schema[]
}

/** `string | null` as one schema of two types, not as a choice between two schemas: so readers and generators show it. */
export function shortened<T extends object>(schema: T): T {
  const { anyOf, ...rest } = schema as Schema
  const [first, second, ...others] = anyOf ?? []
  if (typeof first?.type !== 'string' || second?.type !== 'null' || others.length > 0) return schema
  return { ...first, ...rest, type: [first.type, 'null'] } as object as T
}
