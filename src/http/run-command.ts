import type { Command } from '../commands/command.ts'
import type { Run } from '../commands/run.ts'
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
}

type TraceparentOf = (request: Request) => string | undefined

/**
 * Gives a route all it needs for a command: its path, a handler, and what the document says. Elysia reads a handler's
 * text to know what to prepare, so it takes its argument apart itself.
 */
export const openRunCommand =
  (
    { invite, useMore }: Pick<Limits, 'invite' | 'useMore'>,
    run: Run,
    write: Write,
    traceparentOf: TraceparentOf,
  ) =>
  <Input extends object, Row>(path: string, command: Command<Input, Row>, summary: string) => {
    const { name, invites, madeAt, weight } = command
    const inputOf = readInput(path, command)
    const answer = ({ request, caller, params, body = null, query }: Asked): Promise<Response> => {
      const input = inputOf(params, body, query)
      const where = madeAt && ((id: string) => madeAt(id, input))
      const traceparent = traceparentOf(request)
      const work = ({ ifMatch, guard }: Conditions) =>
        run({ name, input, caller, ifMatch, guard, traceparent })
      const holder = holderOf(caller)
      const go = () => write(request, holder, body, work, where)
      const more = weight ? weight(input) - 1 : 0
      const invitations = invites ? invites(input) : 0
      if (invitations === 0) return more > 0 ? useMore(holder, more).then(go) : go()
      const invited = invite(caller.userId, invitations)
      return more > 0 ? invited.then(() => useMore(holder, more)).then(go) : invited.then(go)
    }
    const hooks = commandHooks(path, command, summary)
    // Elysia would parse a body that the command has no use for.
    const handle =
      'query' in hooks
        ? ({ request, caller, params, body, query }: Asked) =>
            answer({ request, caller, params, body, query })
        : 'body' in hooks
          ? ({ request, caller, params, body }: Asked) => answer({ request, caller, params, body })
          : ({ request, caller, params }: Asked) => answer({ request, caller, params })
    return [path, handle, hooks] as const
  }
