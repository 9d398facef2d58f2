import type { AccountCommand, Command } from '../commands/command.ts'
import type { Expensive } from '../admission/expensive.ts'
import type { Turn } from '../admission/turn.ts'
import { type Caller, holderOf } from '../identity/rights.ts'
import { commandHooks } from '../openapi/command-hooks.ts'
import { readInput } from '../commands/read-input.ts'
import { readGuard } from './idempotency.ts'
import {
  type Around,
  type AskedSecretly,
  type SecretMeans,
  writeAccount,
  writeSecretly,
} from './secret-writes.ts'
import { send } from '../wire/answers.ts'

/** What a guarded route knows of its request. */
export interface Asked extends AskedSecretly {
  caller: Caller
  query?: Record<string, unknown>
  turn: Turn
}

export interface RunMeans extends SecretMeans {
  expensive: Expensive
  traceparentOf(request: Request): string | undefined
}

/** Gives a route all it needs for a command of a project: its path, a handler, and what the document says. */
export const openRun =
  (means: RunMeans) =>
  <Input extends object, Row>(
    path: string,
    command: Command<Input, Row>,
    summary: string,
    around: Around<NoInfer<Input>> = {},
  ) => {
    const inputOf = readInput(path, command)
    const runOpenly = openRunOpenly(means, command)
    const hooks = commandHooks(path, command, summary)
    const handle = handlerOf<Asked>(hooks, (asked) => {
      const input = inputOf(asked.params, asked.body, asked.query)
      if (command.isSecret) return writeSecretly(means, command, asked, { ...around, input })
      return runOpenly(asked, input)
    })
    return [path, handle, hooks] as const
  }

/** The same for a command that a statement executes. */
export const openWrite =
  (means: RunMeans) =>
  <Needed extends Partial<AskedSecretly>, Input extends object, Row>(
    path: string,
    command: AccountCommand<Needed, Input, Row>,
    summary: string,
  ) => {
    const inputOf = readInput(path, command)
    const hooks = commandHooks(path, command, summary)
    const handle = handlerOf<Needed & AskedSecretly>(hooks, (asked) =>
      writeAccount(means, command, asked, inputOf(asked.params, asked.body)),
    )
    return [path, handle, hooks] as const
  }

/**
 * Elysia reads a handler's text to know what to prepare, so it takes its argument apart itself. A body that the command
 * has no use for would be parsed.
 */
function handlerOf<Needed>(hooks: object, answer: (asked: Needed) => Promise<Response>) {
  const all = answer as unknown as (asked: Asked) => Promise<Response>
  const handle =
    'query' in hooks
      ? ({ request, caller, params, body, query, turn }: Asked) =>
          all({ request, caller, params, body, query, turn })
      : 'body' in hooks
        ? ({ request, caller, params, body, turn, claims, address }: Asked) =>
            all({ request, caller, params, body, turn, claims, address })
        : ({ request, caller, params, turn, claims, address }: Asked) =>
            all({ request, caller, params, turn, claims, address })
  return handle as unknown as (asked: Needed) => Promise<Response>
}

function openRunOpenly<Input extends object, Row>(means: RunMeans, command: Command<Input, Row>) {
  const { expensive, limits, run, traceparentOf, withIdempotency } = means
  const { name, invites, madeAt, weight, cost = weight, isExpensive } = command

  async function go({ request, caller, body = null }: Asked, input: Input): Promise<Response> {
    const guard = readGuard(request, holderOf(caller), body)
    const ifMatch = request.headers.get('if-match') ?? undefined
    const order = { name, input, caller, ifMatch, guard, traceparent: traceparentOf(request) }
    const reply = guard ? await withIdempotency(guard, () => run(order)) : await run(order)
    return send(reply, madeAt && ((id) => madeAt(id, input)))
  }

  return (asked: Asked, input: Input): Promise<Response> => {
    const { caller, turn } = asked
    const writes = cost?.(input) ?? 1
    const invitations = invites?.(input) ?? 0
    if (writes === 1 && invitations === 0 && !isExpensive?.(input)) return go(asked, input)
    const pay = async () => {
      if (invitations > 0) await limits.invite(caller.userId, invitations)
      if (writes > 1) await limits.useMore(caller, 'writes', writes - 1)
    }
    if (isExpensive?.(input)) return expensive.run(caller.userId, () => pay().then(() => go(asked, input)))
    const widened = pay().then(() => turn.widen(writes))
    return widened.then(() => go(asked, input))
  }
}
