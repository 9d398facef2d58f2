import type { Declared } from './command.ts'
import { isIdSchema, mapIds } from '../schema/input.ts'
import { canonicalId } from '../ids.ts'

/** The fields of the input that the path gives, by the name they have there: `:id` is what the command runs at. */
export function inPath(path: string, { at }: Declared<never>): [string, string][] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  return names.map((name) => [name, name === 'id' && 'key' in at ? at.key : name])
}

/** Puts path and body together as the command's input, without what a body may hold beside it. */
export function readInput<Input extends object, Row>(path: string, command: Declared<Input, Row>) {
  const given = inPath(path, command)
  const inQuery = command.inQuery ?? []
  const keys = keysOfBody(command, given)
  const ids = keys.filter((key) => isIdSchema(command.input.properties[key]!))
  return (params: Record<string, string>, body: unknown, query: Record<string, unknown> = {}): Input => {
    const input: Record<string, unknown> = {}
    const fields = (body ?? {}) as Record<string, unknown>
    for (const key of keys) if (fields[key] !== undefined) input[key] = fields[key]
    for (const key of ids) if (input[key]) input[key] = mapIds(input[key], canonicalId)
    for (const [name, key] of given) input[key] = params[name]
    for (const key of inQuery) if (query[key] !== undefined) input[key] = query[key]
    return (command.reads?.(input as Input) ?? input) as Input
  }
}

export function keysOfBody(
  { input, inQuery = [], prepared = [] }: Declared<never>,
  given: [string, string][],
): string[] {
  const others = [...inQuery, ...prepared, ...given.map(([, key]) => key)]
  return Object.keys(input.properties).filter((key) => !others.includes(key))
}
