import type { Expensive } from '../admission/expensive.ts'
import type { Permit } from '../admission/scheduler.ts'
import type { AccountCommand, Command, WriteDefinition } from '../commands/command.ts'
import type { Query, ReadRequest } from '../commands/query.ts'
import { pathFields, bodyFields } from '../commands/input-fields.ts'
import { type Caller, holderOf, requireScope } from '../identity/rights.ts'
import { commandHooks } from '../openapi/command-hooks.ts'
import { queryHooks } from '../openapi/query-hooks.ts'
import { canonicalId } from '../ids.ts'
import { isIdSchema, mapIds } from '../schema/input.ts'
import { respondToWrite } from '../responses/reply.ts'
import { type Guards, requireNoParameters } from './guards.ts'
import { readIdempotencyKey } from './idempotency.ts'
import type { Telemetry } from './telemetry.ts'
import {
  type RouteHooks,
  type RouteContext,
  type SecretDependencies,
  writeAccount,
  writeSecretly,
} from './secret-writes.ts'

interface Dependencies extends SecretDependencies {
  expensive: Expensive
  observed: Pick<Telemetry, 'traceparentOf'>
}

export type RouteBuilders = ReturnType<typeof openRouteBuilders>

/** What routes are made of: guards, and all that a route needs for a write or a read: path, handler, and document. */
export const openRouteBuilders = (guards: Guards, means: Dependencies) => ({
  ...guards,

  /** A command of a project. */
  commandRoute<Input extends object, Row>(
    path: string,
    command: Command<Input, Row>,
    summary: string,
    around: RouteHooks<NoInfer<Input>> = {},
  ) {
    const inputOf = readInput(path, command)
    const runOpenly = openRunCommand(means, command)
    const handle = handlerOf<CallerContext>((asked) => {
      const input = inputOf(asked)
      if (command.isSecret) return writeSecretly(means, command, asked, input, around)
      return runOpenly(asked, input)
    })
    return routeOf(path, handle, commandHooks(path, command, summary))
  },

  /** A command that a statement executes. */
  accountRoute<Needed extends Partial<RouteContext>, Input extends object, Row>(
    path: string,
    command: AccountCommand<Needed, Input, Row>,
    summary: string,
  ) {
    const inputOf = readInput(path, command)
    const handle = handlerOf<Needed & RouteContext>((asked) =>
      writeAccount(means, command, asked, inputOf(asked)),
    )
    return routeOf(path, handle, commandHooks(path, command, summary))
  },

  queryRoute,
})

function queryRoute(path: string, query: Query, summary: string) {
  const { read, scope = 'read' } = query
  const handle = handlerOf<ReadRequest>((asked) => {
    requireScope(asked.caller, scope)
    return read(asked)
  })
  return routeOf(path, handle, queryHooks(query, summary))
}

/** A parameter that the query of a route does not name is rejected. */
const routeOf = <Handle, Hooks extends { query?: object }>(path: string, handle: Handle, hooks: Hooks) =>
  [path, handle, { ...hooks, ...(!hooks.query && { transform: requireNoParameters }) }] as const

/** Puts path, body and query together as the command's input, without other fields of the body. */
function readInput<Input extends object, Row>(path: string, command: WriteDefinition<Input, Row>) {
  const given = pathFields(path, command)
  const inQuery = command.queryFields ?? []
  const keys = bodyFields(command, given)
  const ids = keys.filter((key) => isIdSchema(command.input.properties[key]!))
  return ({ params, body, query = {} }: RouteContext): Input => {
    const input: Record<string, unknown> = {}
    const fields = (body ?? {}) as Record<string, unknown>
    for (const key of keys) if (fields[key] !== undefined) input[key] = fields[key]
    for (const key of ids) if (input[key]) input[key] = mapIds(input[key], canonicalId)
    for (const [name, key] of given) input[key] = params[name]
    for (const key of inQuery) if (query[key] !== undefined) input[key] = query[key]
    return (command.complete?.(input as Input) ?? input) as Input
  }
}

interface CallerContext extends RouteContext {
  caller: Caller
  permit: Permit
}

/**
 * Elysia reads a handler's text to know what to prepare: it names each part of the context that any route uses, and nothing
 * else, such as headers and cookies, is parsed.
 */
function handlerOf<Needed>(answer: (asked: Needed) => Promise<Response>) {
  const all = answer as unknown as (asked: CallerContext) => Promise<Response>
  const handle = ({ request, params, query, body, caller, permit, claims, address }: CallerContext) =>
    all({ request, params, query, body, caller, permit, claims, address })
  return handle as unknown as (asked: Needed) => Promise<Response>
}

function openRunCommand<Input extends object, Row>(means: Dependencies, command: Command<Input, Row>) {
  const { expensive, limits, run, withIdempotency } = means
  const { traceparentOf } = means.observed
  const { name, invites, location, weight, cost = weight, isExpensive } = command

  async function go({ request, caller, body = null }: CallerContext, input: Input): Promise<Response> {
    const isKeyed = request.headers.has('idempotency-key')
    const guard = isKeyed ? readIdempotencyKey(request, holderOf(caller), body) : undefined
    const ifMatch = request.headers.get('if-match') ?? undefined
    const order = { name, input, caller, ifMatch, guard, traceparent: traceparentOf?.(request) }
    const reply = guard ? await withIdempotency(guard, () => run(order)) : await run(order)
    return respondToWrite(reply, location && ((id) => location(id, input)))
  }

  return (asked: CallerContext, input: Input): Promise<Response> => {
    const { caller, permit } = asked
    const writes = cost?.(input) ?? 1
    const invitations = invites?.(input) ?? 0
    const takesLong = isExpensive?.(input)
    if (writes === 1 && invitations === 0 && !takesLong) return go(asked, input)
    const pay = async () => {
      if (invitations > 0) await limits.takeInvitations(caller.userId, invitations)
      if (writes > 1) await limits.budgets?.writes.takeMore(caller, writes - 1)
      if (!takesLong) await permit.grow(writes)
      return go(asked, input)
    }
    return takesLong ? expensive.run(caller.userId, pay) : pay()
  }
}
