import type { Command } from './command.ts'
import { ownIdIn } from './decide.ts'
import type { LookupResults, RoutedCommand, Lookups } from './request.ts'
import type { FindPerson, Person } from '../reads/people.ts'
import type { Places } from './places.ts'

export interface LookedUp {
  person?: Person
  found?: LookupResults
}

/** Looks up what a command needs beside its project, of each kind many in one query. */
export type LookUp = (command: Command, routed: RoutedCommand) => Promise<LookedUp>

export function openLookUp(findPerson: FindPerson, places: Pick<Places, 'taskOf' | 'isTaken'>): LookUp {
  async function find({ people, parts, ownIds }: Lookups): Promise<LookupResults> {
    const [found, taskIds, taken] = await Promise.all([
      Promise.all(people.map(async (whom) => (whom && (await findPerson(whom))) ?? null)),
      Promise.all(parts.map((part) => places.taskOf(part))),
      Promise.all(ownIds.map((id) => places.isTaken(id))),
    ])
    return { people: found, taskIds, ownIds, taken: ownIds.filter((_, n) => taken[n]) }
  }

  return async (command, { input, caller }) => {
    const { person: whom } = command
    const person = whom && (await findPerson(whom(input, caller)))
    const ownId = ownIdIn(command, input)
    const sought = ownId === undefined ? command.lookups?.(input, caller) : ofOwnId(ownId)
    return { person, found: sought && (await find(sought)) }
  }
}

const ofOwnId = (id: string): Lookups => ({ people: [], parts: [], ownIds: [id] })
