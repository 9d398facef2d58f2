import type { Command } from '../commands/command.ts'
import type { Run } from '../commands/run.ts'
import type { Expensive } from '../admission/expensive.ts'
import type { Turn } from '../admission/turn.ts'
import { type Caller, holderOf } from '../identity/caller.ts'
import { commandHooks } from '../openapi/command-hooks.ts'
import { readInput } from '../commands/read-input.ts'
import type { Limits } from './limits/limits.ts'
import type { Conditions, Write } from './write.ts'

/** What a guarded route knows of its request. */
export interface Asked {
  request: Request
  caller: Caller
  params: Record<string, string>
  body?: unknown
  query?: Record<string, unknown>
  turn: Turn
}

type TraceparentOf = (request: Request) => string | undefined

/**
 * Gives a route all it needs for a command: its path, a handler, and what the document says. Elysia reads a handler's
 * text to know what to prepare, so it takes its argument apart itself.
 */
export const openRunCommand =
  (
    { invite, useMore }: Pick<Limits, 'invite' | 'useMore'>,
    expensive: Expensive,
    run: Run,
    write: Write,
    traceparentOf: TraceparentOf,
  ) =>
  <Input extends object, Row>(path: string, command: Command<Input, Row>, summary: string) => {
    const { name, invites, madeAt, weight, cost = weight, isExpensive } = command
    const inputOf = readInput(path, command)
    const answer = ({ request, caller, params, body = null, query, turn }: Asked): Promise<Response> => {
      const input = inputOf(params, body, query)
      const where = madeAt && ((id: string) => madeAt(id, input))
      const traceparent = traceparentOf(request)
      const work = ({ ifMatch, guard }: Conditions) =>
        run({ name, input, caller, ifMatch, guard, traceparent })
      const go = () => write(request, holderOf(caller), body, work, where)
      const writes = cost?.(input) ?? 1
      const invitations = invites?.(input) ?? 0
      if (writes === 1 && invitations === 0 && !isExpensive?.(input)) return go()
      const pay = async () => {
        if (invitations > 0) await invite(caller.userId, invitations)
        if (writes > 1) await useMore(caller, 'writes', writes - 1)
      }
      if (isExpensive?.(input)) return expensive.run(caller.userId, () => pay().then(go))
      const widened = pay().then(() => turn.widen(writes))
      return widened.then(go)
    }
    const hooks = commandHooks(path, command, summary)
    // Elysia would parse a body that the command has no use for.
    const handle =
      'query' in hooks
        ? ({ request, caller, params, body, query, turn }: Asked) =>
            answer({ request, caller, params, body, query, turn })
        : 'body' in hooks
          ? ({ request, caller, params, body, turn }: Asked) =>
              answer({ request, caller, params, body, turn })
          : ({ request, caller, params, turn }: Asked) => answer({ request, caller, params, turn })
    return [path, handle, hooks] as const
  }
