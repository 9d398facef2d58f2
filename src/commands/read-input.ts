import type { Declared } from './command.ts'

/** The fields of the input that the path gives, by the name they have there: `:id` is what the command runs at. */
export function inPath(path: string, { target: at }: Declared<never>): [string, string][] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  return names.map((name) => [name, name === 'id' && 'key' in at ? at.key : name])
}

/** The fields of the input that a request's body gives. */
export function keysOfBody(
  { input, inQuery = [], prepared = [] }: Declared<never>,
  given: [string, string][],
): string[] {
  const others = [...inQuery, ...prepared, ...given.map(([, key]) => key)]
  return Object.keys(input.properties).filter((key) => !others.includes(key))
}
