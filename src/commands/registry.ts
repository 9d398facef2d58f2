import type { Command } from './command.ts'

export type Registry = ReadonlyMap<string, Command>

/** All commands by their names. @throws Error when two have the same */
export function registryOf(commands: Command[]): Registry {
  const registry = new Map(commands.map((command) => [command.name, command]))
  if (registry.size < commands.length) throw new Error('Two commands have the same name')
  return registry
}
