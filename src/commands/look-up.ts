import type { Command } from './command.ts'
import { clientIdIn } from './decide.ts'
import type { LookupResults, RoutedCommand, Lookups } from './request.ts'
import type { FindPerson, Person } from '../reads/people.ts'
import type { RowLocations } from './row-locations.ts'

export interface LookedUp {
  person?: Person
  lookupResults?: LookupResults
}

/** Runs the look-ups of a command. Concurrent look-ups of one kind share a query. */
export type LookUp = (command: Command, routed: RoutedCommand) => Promise<LookedUp>

export function openLookUp(findPerson: FindPerson, places: Pick<RowLocations, 'taskOf' | 'isTaken'>): LookUp {
  async function find({ people, children, clientIds: clientIds }: Lookups): Promise<LookupResults> {
    const [persons, taskIds, taken] = await Promise.all([
      Promise.all(people.map(async (key) => (key && (await findPerson(key))) ?? null)),
      Promise.all(children.map((part) => places.taskOf(part))),
      Promise.all(clientIds.map((id) => places.isTaken(id))),
    ])
    return { people: persons, taskIds, clientIds, takenIds: clientIds.filter((_, n) => taken[n]) }
  }

  return async (command, { input, caller }) => {
    const { person: personOf } = command
    const person = personOf && (await findPerson(personOf(input, caller)))
    const clientId = clientIdIn(command, input)
    const lookups = clientId === undefined ? command.lookups?.(input, caller) : clientIdLookup(clientId)
    return { person, lookupResults: lookups && (await find(lookups)) }
  }
}

const clientIdLookup = (id: string): Lookups => ({ people: [], children: [], clientIds: [id] })
