import type { Expensive } from '../admission/expensive.ts'
import { slotsOf } from '../admission/scheduler.ts'
import type { AccountCommand, Command, WriteDefinition } from '../commands/command.ts'
import type { Query, ReadRequest } from '../commands/query.ts'
import type { RouteRequest } from '../commands/route-request.ts'
import { pathFields, bodyFields } from '../commands/input-fields.ts'
import { type Caller, holderOf, requireScope } from '../identity/rights.ts'
import { commandHooks } from '../openapi/command-hooks.ts'
import { queryHooks } from '../openapi/query-hooks.ts'
import { canonicalId } from '../id-format.ts'
import { isIdSchema, mapIds } from '../schema/input.ts'
import { respondToWrite } from '../responses/reply.ts'
import { type Guards, admitFirst, guarded } from './guards.ts'
import { readIfClaim } from './if-claim.ts'
import { type BodyLimits, openReadBody } from './json-body.ts'
import { readIdempotencyKey } from './idempotency.ts'
import { readPathTexts } from './path-texts.ts'
import type { Telemetry } from './telemetry.ts'
import { type RouteHooks, type SecretDependencies, writeAccount, writeSecretly } from './secret-writes.ts'

interface Dependencies extends SecretDependencies {
  config: BodyLimits
  expensive: Expensive
  telemetry: Pick<Telemetry, 'traceparentOf'>
  subscriptions: { hasEnded(): boolean }
}

export type RouteBuilders = ReturnType<typeof openRouteBuilders>

export const openRouteBuilders = (guards: Guards, dependencies: Dependencies) => ({
  ...guards,

  commandRoute<Input extends object, Row>(
    path: string,
    command: Command<Input, Row>,
    summary: string,
    hooks: RouteHooks<NoInfer<Input>> = {},
  ) {
    const inputOf = readInput(path, command)
    const runCommand = openRunCommand(dependencies, command, hooks.repeat)
    const respond = (context: ReadRequest): Promise<Response> => {
      const input = inputOf(context)
      if (command.isSecret) return writeSecretly(dependencies, command, context, input, hooks)
      return runCommand(context, input)
    }
    return routeOf(dependencies, path, respond, commandHooks(path, command, summary))
  },

  accountRoute<Request extends RouteRequest, Input extends object, Row>(
    path: string,
    command: AccountCommand<Request, Input, Row>,
    summary: string,
  ) {
    const inputOf = readInput(path, command)
    const respond = (context: Request) => writeAccount(dependencies, command, context, inputOf(context))
    return routeOf(dependencies, path, respond, commandHooks(path, command, summary))
  },

  queryRoute(path: string, query: Query, summary: string) {
    const { read, scope = 'read' } = query
    const respond = (context: ReadRequest): Promise<Response> => {
      requireScope(context.caller, scope)
      return read(context)
    }
    return routeOf(dependencies, path, respond, queryHooks(query, summary))
  },
})

type Hooks = ReturnType<typeof commandHooks>

function routeOf<Needed>(
  { config }: Dependencies,
  path: string,
  respond: (context: Needed) => Response | Promise<Response>,
  hooks: Hooks,
) {
  const { query, detail } = hooks
  const readBody = openReadBody(config, detail.requestBody?.content['application/json'].schema)
  const handle = guarded(respond, { hasQuery: query !== undefined, readBody })
  return [path, handle, { ...hooks, ...(query && { transform: admitFirst }) }] as const
}

function readInput<Input extends object, Row>(path: string, command: WriteDefinition<Input, Row>) {
  const pathParameters = pathFields(path, command)
  const inQuery = command.queryFields ?? []
  const keys = bodyFields(command, pathParameters)
  const ids = keys.filter((key) => isIdSchema(command.input.properties[key]!))
  const texts = readPathTexts(path, command, pathParameters)
  return (context: RouteRequest): Input => {
    const { params, body, query = {} } = context
    const input: Record<string, unknown> = {}
    const fields = (body ?? {}) as Record<string, unknown>
    for (const key of keys) if (fields[key] !== undefined) input[key] = fields[key]
    for (const key of ids) if (input[key]) input[key] = mapIds(input[key], canonicalId)
    for (const [name, key] of pathParameters) input[key] = params[name]
    if (texts) Object.assign(input, texts(context))
    for (const key of inQuery) if (query[key] !== undefined) input[key] = query[key]
    return (command.complete?.(input as Input) ?? input) as Input
  }
}

/** A process that stops ends waits early. The client must send its next request on another connection. */
function closing(response: Response): Response {
  response.headers.set('connection', 'close')
  return response
}

function openRunCommand<Input extends object, Row>(
  dependencies: Dependencies,
  command: Command<Input, Row>,
  repeat: RouteHooks<Input>['repeat'],
) {
  const { expensive, limits, run, withIdempotency, subscriptions } = dependencies
  const { traceparentOf } = dependencies.telemetry
  const { name, invites, weight, cost = weight, isExpensive, location, view } = command
  const headers = { location, hasVersion: view?.hasNoEtag }

  async function execute(context: ReadRequest, input: Input): Promise<Response> {
    const { request, caller, body = null } = context
    const isKeyed = request.headers.has('idempotency-key')
    const key = isKeyed ? readIdempotencyKey(request, holderOf(caller), body) : undefined
    const ifMatch = request.headers.get('if-match') ?? undefined
    const traceparent = traceparentOf?.(request)
    const ifClaim = request.headers.has('docket-if-claim') ? readIfClaim(request) : undefined
    const writeAs = (caller: Caller) =>
      run({ name, input, caller, ifMatch, ifClaim, guard: key, traceparent })
    const write = () => (repeat ? repeat(context, writeAs) : writeAs(caller))
    const reply = await (key ? withIdempotency(key, write) : write())
    const response = respondToWrite(reply, headers, input)
    return repeat && subscriptions.hasEnded() ? closing(response) : response
  }

  return (context: ReadRequest, input: Input): Promise<Response> => {
    const { caller, permit } = context
    const writes = cost?.(input) ?? 1
    const invitations = invites?.(input) ?? 0
    const isSlow = isExpensive?.(input)
    if (writes === 1 && invitations === 0 && !isSlow) return execute(context, input)
    const charge = async () => {
      if (invitations > 0) await limits.takeInvitations(caller.userId, invitations)
      if (writes > 1) await limits.budgets?.writes.takeMore(caller, writes - 1)
      if (!isSlow) await permit.grow(slotsOf(writes))
      return execute(context, input)
    }
    return isSlow ? expensive.run(caller.userId, charge) : charge()
  }
}
