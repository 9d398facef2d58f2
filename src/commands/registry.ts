import { createHash } from 'node:crypto'
import type { Command } from './command.ts'

export interface Registered {
  command: Command
  /** A digest of the input schema and the scope. A process of another release rejects a command whose form differs. */
  form: string
}

export type Registry = ReadonlyMap<string, Registered>

export function registryOf(commands: Command[]): Registry {
  const registry = new Map(commands.map((command) => [command.name, { command, form: formOf(command) }]))
  if (registry.size < commands.length) throw new Error('Two commands have the same name')
  return registry
}

/** Increases with each incompatible change of RoutedCommand. */
const dispatchVersion = '3'

const formOf = ({ input, scope }: Command): string =>
  createHash('sha256')
    .update(dispatchVersion + scope + JSON.stringify(input))
    .digest('base64url')
    .slice(0, 8)
