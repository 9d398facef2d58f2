import { notFound } from '../wire/refusals.ts'
import { isId, newId } from '../ids.ts'
import type { Reply } from '../wire/reply.ts'
import type { Command } from './command.ts'
import { idIn, nouns, ownIdIn } from './decide.ts'
import type { Deliver } from './deliver.ts'
import type { Dispatch, Found, Order, Sought } from './order.ts'
import type { FindPerson } from './people.ts'
import type { Places } from './places.ts'
import type { Registered, Registry } from './registry.ts'

/**
 * Runs any command by its name, wherever its project is at home, and gives its answer once it is durable.
 * @throws Refusal what the rule refused, 404 when what it runs at is not there, 503
 */
export type Run = (order: Order) => Promise<Reply>

interface Means {
  registry: Registry
  places: Places
  findPerson: FindPerson
  deliver: Deliver
  timeoutMs: number
}

/** Opens the one way in for writes to projects. */
export function openRun({ registry, places, findPerson, deliver, timeoutMs }: Means): Run {
  /** Looks for all at once: of each kind, many in one query. */
  async function find({ people, parts, ownIds }: Sought): Promise<Found> {
    const [found, taskIds, taken] = await Promise.all([
      Promise.all(people.map(async (whom) => (whom && (await findPerson(whom))) ?? null)),
      Promise.all(parts.map((part) => places.taskOf(part))),
      Promise.all(ownIds.map((id) => places.isTaken(id))),
    ])
    return { people: found, taskIds, ownIds, taken: ownIds.filter((_, n) => taken[n]) }
  }

  type Known = Pick<Dispatch, 'person' | 'found'>

  function runIn({ command, form }: Registered, order: Order, known: Known): Promise<Reply> {
    const { at } = command
    const deadline = performance.now() + timeoutMs
    const into = command.into?.(order.input)
    if (into !== undefined && !isId(into)) throw notFound('Project')
    const send = (projectId: string, taskId?: string) =>
      deliver(command, { ...order, form, id: newId(), projectId, taskId, ...known }, deadline)
    if (at.kind === 'new') return send(ownIdIn(command, order.input) ?? newId())
    const id = idIn(order.input, at.key)
    if (at.kind === 'project') return send(id)
    return places.at(at.kind, id, nouns[at.kind], ({ projectId, taskId }) => send(projectId, taskId))
  }

  return async (order) => {
    const known = registry.get(order.name)
    if (!known) throw new Error(`There is no command ${order.name}`)
    const { input, caller } = order
    const { whom } = known.command
    const person = whom && (await findPerson(whom(input, caller)))
    const sought = soughtBy(known.command, order)
    const found = sought && (await find(sought))
    return runIn(known, order, { person, found })
  }
}

function soughtBy(command: Command, { input, caller }: Order): Sought | undefined {
  const ownId = ownIdIn(command, input)
  if (ownId !== undefined) return { people: [], parts: [], ownIds: [ownId] }
  return command.seeks?.(input, caller)
}
