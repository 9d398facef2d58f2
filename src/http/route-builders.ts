import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { Expensive } from '../admission/expensive.ts'
import { slotsForWrites } from '../admission/fair-queue.ts'
import {
  type AccountCommand,
  type Command,
  type WriteDefinition,
  type RouteRequest,
  pathFields,
  bodyFields,
} from '../commands/command.ts'
import { readIfClaim } from '../model/claims.ts'
import type { Query, ReadRequest } from '../commands/query.ts'
import { canonicalId } from '../id-format.ts'
import { type Caller, tokenOrUserId, requireScope } from '../identity/rights.ts'
import { commandHooks, queryHooks } from '../openapi/hooks.ts'
import { badRequest } from '../responses/errors.ts'
import { respondToWrite } from '../responses/reply.ts'
import { isIdSchema, mapIds } from '../schema/input.ts'
import { validationError } from '../schema/validation.ts'
import { type Guards, admitFirst, guarded } from './guards.ts'
import { readIdempotencyKey } from './idempotency.ts'
import { type BodyLimits, openReadBody } from './json-body.ts'
import { type RouteHooks, type SecretDependencies, writeAccount, writeSecretly } from './secret-writes.ts'
import type { Telemetry } from './telemetry.ts'

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

/**
 * For a long poll that ends early because the process stops: makes the client send its next request on another
 * connection.
 */
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
    const key = isKeyed ? readIdempotencyKey(request, tokenOrUserId(caller), body) : undefined
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
      if (!isSlow) await permit.grow(slotsForWrites(writes))
      return execute(context, input)
    }
    return isSlow ? expensive.run(caller.userId, charge) : charge()
  }
}

const changedByUrl = (name: string) =>
  badRequest(
    `${name} must not be "." or ".." in a path, and a backslash must be sent as %5C: "." and ".." can be sent in the body of a batch`,
  )
const notEncoded = (name: string) => badRequest(`${name} must be percent-encoded UTF-8`)

/**
 * Returns a function that reads the path parameters that are not ids; undefined if there are none. The function reads
 * them from the URL, because the router replaces malformed bytes, and the guard converts parameters to lower case. The
 * URL is normalized, so a `..` may have removed segments: the function compares each value with the parameter of the
 * router.
 */
function readPathTexts(path: string, { input }: WriteDefinition<never>, pathParameters: [string, string][]) {
  const texts = pathParameters.filter(([, key]) => !isIdSchema(input.properties[key]!))
  if (texts.length === 0) return undefined
  const schemas = texts.map(([, key]) => [key, input.properties[key]!] as const)
  const check = TypeCompiler.Compile(Type.Object(Object.fromEntries(schemas)))
  const parts = path.split('/')
  const places = texts.map(([name, key]) => [name, key, parts.indexOf(`:${name}`) - parts.length] as const)
  /** @throws HttpError 400 */
  return ({ request: { url }, params }: RouteRequest): Record<string, string> => {
    const segments = url.replace(/\/?(\?.*)?$/s, '').split('/')
    const values: Record<string, string> = {}
    for (const [name, key, place] of places) {
      const value = decode(key, segments.at(place)!)
      if (canonicalId(value) !== params[name]) throw changedByUrl(key)
      values[key] = value
    }
    if (!check.Check(values)) throw validationError(check.Errors(values))
    return values
  }
}

function decode(name: string, text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw notEncoded(name)
  }
}
