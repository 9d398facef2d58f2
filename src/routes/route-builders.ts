import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import {
  type AccountCommand,
  type Command,
  type WriteDefinition,
  type RouteRequest,
  pathFields,
  bodyFields,
} from '../commands/command.ts'
import type { Query, ReadRequest } from '../commands/query.ts'
import { canonicalId } from '../id-format.ts'
import { requireScope } from '../identity/rights.ts'
import { commandHooks, queryHooks } from '../openapi/operation.ts'
import { badRequest } from '../responses/errors.ts'
import { isIdSchema, mapIds } from '../schema/input.ts'
import { validationError } from '../schema/validation.ts'
import { admitFirst, guarded, openGuards } from './guards.ts'
import { openReadBody } from '../http/json-body.ts'
import { openRunCommand, type RouteHooks, type RouteServices, writeAccount, writeSecretly } from './writes.ts'

export type RouteBuilders = ReturnType<typeof openRouteBuilders>

export const openRouteBuilders = (services: RouteServices) => ({
  ...openGuards(services),

  commandRoute<Input extends object, Row>(
    path: string,
    command: Command<Input, Row>,
    summary: string,
    hooks: RouteHooks<NoInfer<Input>> = {},
  ) {
    const inputOf = readInput(path, command)
    const runCommand = openRunCommand(services, command, hooks.repeat)
    const respond = (context: ReadRequest): Promise<Response> => {
      const input = inputOf(context)
      if (command.isSecret) return writeSecretly(services, command, context, input, hooks)
      return runCommand(context, input)
    }
    return routeOf(services, path, respond, commandHooks(path, command, summary))
  },

  accountRoute<Request extends RouteRequest, Input extends object, Row>(
    path: string,
    command: AccountCommand<Request, Input, Row>,
    summary: string,
  ) {
    const inputOf = readInput(path, command)
    const respond = (context: Request) => writeAccount(services, command, context, inputOf(context))
    return routeOf(services, path, respond, commandHooks(path, command, summary))
  },

  queryRoute(path: string, query: Query, summary: string) {
    const { read, scope = 'read' } = query
    const respond = (context: ReadRequest): Promise<Response> => {
      requireScope(context.caller, scope)
      return read(context)
    }
    return routeOf(services, path, respond, queryHooks(query, summary))
  },
})

type Hooks = ReturnType<typeof commandHooks>

function routeOf<Needed>(
  { config }: RouteServices,
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
