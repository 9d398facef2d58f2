import type { Actors } from '../actor/actors.ts'
import type { Guard } from '../commit/idempotency.ts'
import type { Caller } from '../identity/caller.ts'
import type { Reply } from '../wire/reply.ts'
import type { Needs } from '../actor/load.ts'
import type { Work } from '../actor/work.ts'
import { notFound } from '../wire/refusals.ts'
import { isId, newId } from '../ids.ts'
import type { Command } from './command.ts'
import { decide, idIn, nouns } from './decide.ts'
import type { FindPerson, Person } from './people.ts'
import type { Places } from './places.ts'
import { replyOf } from './reply-of.ts'

/** A command on its way: plain data from end to end. */
export interface Order {
  name: string
  input: object
  caller: Caller
  /** The caller's If-Match header. */
  ifMatch?: string
  /** The caller's Idempotency-Key; the answer is kept with the commit. */
  guard?: Guard
}

/**
 * Runs any command by its name, and gives its answer once it is durable.
 * @throws Refusal what the rule refused, 404 when what it runs at is not there, 503
 */
export type Run = (order: Order) => Promise<Reply>

interface Means {
  actors: Actors
  places: Places
  findPerson: FindPerson
  limits: { projectMembers: number }
}

/** Opens the one way in for writes to projects. @throws Error when two commands have one name */
export function openRun(commands: Command[], { actors, places, findPerson, limits }: Means): Run {
  const registry = new Map(commands.map((command) => [command.name, command]))
  if (registry.size < commands.length) throw new Error('Two commands have the same name')

  function runIn(command: Command, { input, caller, ifMatch, guard }: Order, person?: Person) {
    const { at } = command
    const into = command.into?.(input)
    if (into !== undefined && !isId(into)) throw notFound('Project')
    const work = (projectId: string, needs?: Needs): Work<Reply> => ({
      projectId,
      otherProjectId: into,
      caller,
      needs,
      ifMatch,
      guard,
      opens: at.kind === 'new',
      decide(state, { now, newId }, other) {
        const known = { caller, ifMatch, now, newId, person, limits }
        return replyOf(command, decide(command, state, known, input, other), person)
      },
    })
    if (at.kind === 'new') return actors.run(work(newId()))
    const id = idIn(input, at.key)
    if (at.kind === 'project') return actors.run(work(id, command.needs?.(input)))
    const { kind } = at
    return places.at(kind, id, nouns[kind], ({ projectId, taskId }) =>
      actors.run(work(projectId, { task: [taskId], [kind]: [id] })),
    )
  }

  return async (order) => {
    const command = registry.get(order.name)
    if (!command) throw new Error(`There is no command ${order.name}`)
    if (!command.whom) return runIn(command, order)
    return runIn(command, order, await findPerson(command.whom(order.input, order.caller)))
  }
}
