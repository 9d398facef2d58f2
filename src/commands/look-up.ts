import type { Caller } from '../identity/rights.ts'
import type { FindPerson } from '../reads/people.ts'
import type { Command } from './command.ts'
import { clientIdIn } from './decide.ts'
import type { LookupResults, Lookups, RoutedCommand } from './request.ts'
import type { RowLocations } from './row-locations.ts'

/** Runs the look-ups of a command. Concurrent look-ups of one kind share a query. */
export type RunLookups = (command: Command, routed: RoutedCommand) => Promise<LookupResults>

export function openRunLookups(
  findPerson: FindPerson,
  locations: Pick<RowLocations, 'taskOf' | 'isTaken'>,
): RunLookups {
  return async (command, { input, caller }) => {
    const lookups = command.lookups?.(input, caller) ?? lookupsOf(command, input, caller)
    const { clientIds } = lookups
    const [people, taskIds, taken] = await Promise.all([
      Promise.all(lookups.people.map(async (key) => (key && (await findPerson(key))) ?? null)),
      Promise.all(lookups.children.map(locations.taskOf)),
      Promise.all(clientIds.map(locations.isTaken)),
    ])
    return { people, taskIds, clientIds, takenIds: clientIds.filter((_, n) => taken[n]) }
  }
}

function lookupsOf(command: Command, input: object, caller: Caller): Lookups {
  const clientId = clientIdIn(command, input)
  const clientIds = clientId === undefined ? [] : [clientId]
  return { people: [command.person?.(input, caller)], children: [], clientIds }
}
