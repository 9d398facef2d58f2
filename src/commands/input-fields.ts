import type { WriteDefinition } from './command.ts'

export function pathFields(path: string, { target: at }: WriteDefinition<never>): [string, string][] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  return names.map((name) => [name, name === 'id' && 'key' in at ? at.key : name])
}

export function bodyFields(
  { input, queryFields = [], preparedFields = [] }: WriteDefinition<never>,
  given: [string, string][],
): string[] {
  const otherSources = [...queryFields, ...preparedFields, ...given.map(([, key]) => key)]
  return Object.keys(input.properties).filter((key) => !otherSources.includes(key))
}
