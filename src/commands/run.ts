import { notFound } from '../wire/refusals.ts'
import { isId, newId } from '../ids.ts'
import type { Reply } from '../wire/reply.ts'
import { idIn, nounAt, ownIdIn } from './decide.ts'
import type { Deliver } from './deliver.ts'
import type { Order } from './order.ts'
import type { Places } from './places.ts'
import type { Registry } from './registry.ts'

/**
 * Runs any command by its name, wherever its project is at home, and gives its answer once it is durable.
 * @throws Refusal what the rule refused, 404 when what it runs at is not there, 503
 */
export type Run = (order: Order) => Promise<Reply>

interface Means {
  registry: Registry
  places: Places
  deliver: Deliver
  timeoutMs: number
}

/** Opens the one way in for writes to projects. */
export function openRun({ registry, places, deliver, timeoutMs }: Means): Run {
  return async (order) => {
    const known = registry.get(order.name)
    if (!known) throw new Error(`There is no command ${order.name}`)
    const { command, form } = known
    const { at } = command
    const deadline = performance.now() + timeoutMs
    const into = command.into?.(order.input)
    if (into !== undefined && !isId(into)) throw notFound('Project')
    const send = (projectId: string, taskId?: string) =>
      deliver(command, { ...order, form, id: newId(), projectId, taskId }, deadline)
    if (at.kind === 'new') return send(ownIdIn(command, order.input) ?? newId())
    const id = idIn(order.input, at.key)
    if (at.kind === 'project') return send(id)
    return places.at(at.kind, id, nounAt(at), ({ projectId, taskId }) => send(projectId, taskId ?? undefined))
  }
}
