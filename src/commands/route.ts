import { ConnectionLost, type Peer } from '../routing/rpc.ts'
import type { RpcClient } from '../routing/rpc-client.ts'
import type { Home } from '../routing/homes.ts'
import { isId, newId } from '../ids.ts'
import { noOrders } from '../metrics/counts.ts'
import { notFound, outcomeUnknown, Refusal } from '../wire/refusals.ts'
import type { Reply } from '../wire/answers.ts'
import type { Command } from './command.ts'
import { idIn, nounAt, ownIdIn } from './decide.ts'
import type { Execute } from './execute.ts'
import type { Places } from './places.ts'
import type { Registry } from './registry.ts'
import type { CommandRequest, RoutedCommand } from './request.ts'

/**
 * Runs a command by its name at the home of its project, and returns its reply once it is durable.
 * @throws Refusal the rule's, 404 when the target does not exist, 503
 */
export type Run = (request: CommandRequest) => Promise<Reply>

interface Means {
  registry: Registry
  places: Places
  route: Execute
  timeoutMs: number
}

export function openRun({ registry, places, route, timeoutMs }: Means): Run {
  return ({ name, input, caller, ifMatch, guard, traceparent }) => {
    const known = registry.get(name)
    if (!known) return Promise.reject(new Error(`There is no command ${name}`))
    const { command, form } = known
    const { at } = command
    const into = command.into?.(input)
    if (into !== undefined && !isId(into)) return Promise.reject(notFound('Project'))
    const deadline = performance.now() + timeoutMs
    const send = (projectId: string, taskId?: string) => {
      const routed = {
        name,
        input,
        caller,
        ifMatch,
        guard,
        traceparent,
        form,
        id: newId(),
        projectId,
        taskId,
      }
      return route(command, routed, deadline)
    }
    if (at.kind === 'new') return send(ownIdIn(command, input) ?? newId())
    const id = idIn(input, at.key)
    if (at.kind === 'project') return send(id)
    return places.at(at.kind, id, nounAt(at), ({ projectId, taskId }) => send(projectId, taskId ?? undefined))
  }
}

/** Retries of a command whose home was lost while the command was under way there. */
const maxRetries = 2

/**
 * Sends a command to its project's home and returns the reply. The home is only a hint: any process can execute any
 * command, and the commit's comparison keeps it right. A command whose home was lost goes to the next home with the same
 * id, by which the log says whether it is committed; at most twice, so that a command that ends its process does not end
 * every process.
 */
export function openRoute(
  homeOf: (projectId: string) => Home | undefined,
  call: RpcClient['call'],
  execute: Execute,
  counts = noOrders(),
): Execute {
  const route = (command: Command, routed: RoutedCommand, deadline: number, retries = 0): Promise<Reply> => {
    const home = isId(routed.projectId) ? homeOf(routed.projectId) : 'here'
    if (home === undefined || home === 'here') return execute(command, routed, deadline)
    counts.forwarded++
    return send(command, routed, deadline, home, retries)
  }

  async function send(
    command: Command,
    routed: RoutedCommand,
    deadline: number,
    home: Peer,
    retries: number,
  ) {
    try {
      const answer = await call(home, routed, deadline)
      if (answer.kind === 'reply') return answer
      if (answer.kind === 'refusal') throw new Refusal(answer.status, answer.message, answer.headers)
      if (answer.kind === 'failed') throw new Error(`${routed.name} failed at its home`)
      return execute(command, routed, deadline)
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      counts.lost++
      if (!error.sent) return route(command, routed, deadline, retries)
      if (retries >= maxRetries) throw outcomeUnknown()
      return route(command, { ...routed, again: true }, deadline, retries + 1)
    }
  }
  return route
}
