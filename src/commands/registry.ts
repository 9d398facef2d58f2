import { createHash } from 'node:crypto'
import type { Command } from './command.ts'

export interface Registered {
  command: Command
  /** What its input and rights look like in this release: a process of another one must not take it for something else. */
  form: string
}

export type Registry = ReadonlyMap<string, Registered>

/** All commands by their names. @throws Error when two have the same */
export function registryOf(commands: Command[]): Registry {
  const registry = new Map(commands.map((command) => [command.name, { command, form: formOf(command) }]))
  if (registry.size < commands.length) throw new Error('Two commands have the same name')
  return registry
}

/** Counts changes of what is sent with a command: 2, since its home looks up what it needs. */
const dispatchVersion = '2'

const formOf = ({ input, scope }: Command): string =>
  createHash('sha256')
    .update(dispatchVersion + scope + JSON.stringify(input))
    .digest('base64url')
    .slice(0, 8)
