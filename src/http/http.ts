import type { Expensive } from '../admission/expensive.ts'
import type { Turn } from '../admission/scheduler.ts'
import type { AccountCommand, Command, Declared } from '../commands/command.ts'
import type { Query, Reading } from '../commands/query.ts'
import { inPath, keysOfBody } from '../commands/read-input.ts'
import { type Caller, holderOf, requireScope } from '../identity/rights.ts'
import { commandHooks } from '../openapi/command-hooks.ts'
import { queryHooks } from '../openapi/query-hooks.ts'
import { canonicalId } from '../ids.ts'
import { isIdSchema, mapIds } from '../schema/input.ts'
import { send } from '../responses/reply.ts'
import { type Guards, requireNone } from './guards.ts'
import { readGuard } from './idempotency.ts'
import type { Observed } from './observed.ts'
import { type Around, type Asked, type SecretMeans, writeAccount, writeSecretly } from './secret-writes.ts'

interface Means extends SecretMeans {
  expensive: Expensive
  observed: Pick<Observed, 'traceparentOf'>
}

export type Http = ReturnType<typeof openHttp>

/** What routes are made of: guards, and all that a route needs for a write or a read: path, handler, and document. */
export const openHttp = (guards: Guards, means: Means) => ({
  ...guards,

  /** A command of a project. */
  run<Input extends object, Row>(
    path: string,
    command: Command<Input, Row>,
    summary: string,
    around: Around<NoInfer<Input>> = {},
  ) {
    const inputOf = readInput(path, command)
    const runOpenly = openRunOpenly(means, command)
    const handle = handlerOf<AskedByCaller>((asked) => {
      const input = inputOf(asked)
      if (command.isSecret) return writeSecretly(means, command, asked, input, around)
      return runOpenly(asked, input)
    })
    return routeOf(path, handle, commandHooks(path, command, summary))
  },

  /** A command that a statement executes. */
  write<Needed extends Partial<Asked>, Input extends object, Row>(
    path: string,
    command: AccountCommand<Needed, Input, Row>,
    summary: string,
  ) {
    const inputOf = readInput(path, command)
    const handle = handlerOf<Needed & Asked>((asked) => writeAccount(means, command, asked, inputOf(asked)))
    return routeOf(path, handle, commandHooks(path, command, summary))
  },

  ask: askQuery,
})

function askQuery(path: string, query: Query, summary: string) {
  const { read, scope = 'read' } = query
  const handle = handlerOf<Reading>((asked) => {
    requireScope(asked.caller, scope)
    return read(asked)
  })
  return routeOf(path, handle, queryHooks(query, summary))
}

/** A parameter that the query of a route does not name is rejected. */
const routeOf = <Handle, Hooks extends { query?: object }>(path: string, handle: Handle, hooks: Hooks) =>
  [path, handle, { ...hooks, ...(!hooks.query && { transform: requireNone }) }] as const

/** Puts path, body and query together as the command's input, without other fields of the body. */
function readInput<Input extends object, Row>(path: string, command: Declared<Input, Row>) {
  const given = inPath(path, command)
  const inQuery = command.inQuery ?? []
  const keys = keysOfBody(command, given)
  const ids = keys.filter((key) => isIdSchema(command.input.properties[key]!))
  return ({ params, body, query = {} }: Asked): Input => {
    const input: Record<string, unknown> = {}
    const fields = (body ?? {}) as Record<string, unknown>
    for (const key of keys) if (fields[key] !== undefined) input[key] = fields[key]
    for (const key of ids) if (input[key]) input[key] = mapIds(input[key], canonicalId)
    for (const [name, key] of given) input[key] = params[name]
    for (const key of inQuery) if (query[key] !== undefined) input[key] = query[key]
    return (command.complete?.(input as Input) ?? input) as Input
  }
}

interface AskedByCaller extends Asked {
  caller: Caller
  turn: Turn
}

/**
 * Elysia reads a handler's text to know what to prepare: it names each part of the context that any route uses, and nothing
 * else, such as headers and cookies, is parsed.
 */
function handlerOf<Needed>(answer: (asked: Needed) => Promise<Response>) {
  const all = answer as unknown as (asked: AskedByCaller) => Promise<Response>
  const handle = ({ request, params, query, body, caller, turn, claims, address }: AskedByCaller) =>
    all({ request, params, query, body, caller, turn, claims, address })
  return handle as unknown as (asked: Needed) => Promise<Response>
}

function openRunOpenly<Input extends object, Row>(means: Means, command: Command<Input, Row>) {
  const { expensive, limits, run, withIdempotency } = means
  const { traceparentOf } = means.observed
  const { name, invites, location, weight, cost = weight, isExpensive } = command

  async function go({ request, caller, body = null }: AskedByCaller, input: Input): Promise<Response> {
    const isKeyed = request.headers.has('idempotency-key')
    const guard = isKeyed ? readGuard(request, holderOf(caller), body) : undefined
    const ifMatch = request.headers.get('if-match') ?? undefined
    const order = { name, input, caller, ifMatch, guard, traceparent: traceparentOf?.(request) }
    const reply = guard ? await withIdempotency(guard, () => run(order)) : await run(order)
    return send(reply, location && ((id) => location(id, input)))
  }

  return (asked: AskedByCaller, input: Input): Promise<Response> => {
    const { caller, turn } = asked
    const writes = cost?.(input) ?? 1
    const invitations = invites?.(input) ?? 0
    const takesLong = isExpensive?.(input)
    if (writes === 1 && invitations === 0 && !takesLong) return go(asked, input)
    const pay = async () => {
      if (invitations > 0) await limits.invite(caller.userId, invitations)
      if (writes > 1) await limits.budgets?.writes.takeMore(caller, writes - 1)
      if (!takesLong) await turn.widen(writes)
      return go(asked, input)
    }
    return takesLong ? expensive.run(caller.userId, pay) : pay()
  }
}
