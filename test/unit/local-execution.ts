import type { Command, RoutedCommand } from '../../src/commands/command.ts'
import { openExecute, type Execute } from '../../src/commands/execute.ts'
import { registryOf, openServe } from '../../src/commands/router.ts'
import { openRowLocations } from '../../src/commands/row-locations.ts'
import { Scheduler } from '../../src/admission/fair-queue.ts'
import { newId, openLog } from '../kit.ts'
import { type Log } from '../../src/logger.ts'
import { openFindPerson } from '../../src/reads/people.ts'
import type { RpcResponse } from '../../src/routing/rpc.ts'
import type { Services } from '../../src/services.ts'
import { commands } from '../../modules/commands.ts'
import { distantDeadline } from '../support/queued-command.ts'

export const registry = registryOf(commands)
const { command, form } = registry.get('task.create')!
export const createCommand = command

export function routedCreate(projectId: string, userId: string, fields: Partial<RoutedCommand> = {}) {
  const input = { projectId, title: 'Task' }
  const routed = { name: command.name, form, id: newId(), projectId, input, caller: { userId } }
  return { ...routed, ...fields } as RoutedCommand
}

/** Returns a function that executes commands in the process of the services. */
export function executeOf(
  { actors, findRole, config, database: { reads } }: Services,
  over: { log?: Log } = {},
) {
  const lookups = { findRole, findPerson: openFindPerson(reads), rowLocations: openRowLocations(reads) }
  const execute = openExecute({ actors, ...lookups, limits: config, ...over })
  return (command: Command, routed: RoutedCommand, deadline = distantDeadline()) =>
    execute(command, routed, deadline)
}

/** Returns a function that executes a command as the home does for another process. */
export function openServing(execute: Execute, isClosing = () => false) {
  const dependencies = { registry, execute, scheduler: new Scheduler(), isClosing, log: openLog('silent') }
  const serve = openServe({ ...dependencies, ttlMs: 15_000 })
  return (payload: unknown) =>
    new Promise<RpcResponse>((respond) => serve([{ payload, deadline: distantDeadline(), respond }]))
}
