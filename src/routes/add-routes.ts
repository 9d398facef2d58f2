import { type TSchema, Type } from '@sinclair/typebox'
import type { AnyElysia } from 'elysia'
import {
  type AccountCommand,
  type Command,
  type WriteDefinition,
  type RouteRequest,
  pathFields,
  bodyFields,
} from '../commands/command.ts'
import type { Query, ReadRequest } from '../commands/query.ts'
import { openReadBody } from '../http/json-body.ts'
import type { BudgetName } from '../http/limits.ts'
import { decoded } from '../hosts.ts'
import { canonicalId } from '../id-format.ts'
import { requireScope } from '../identity/rights.ts'
import { commandOperation, queryOperation } from '../openapi/operation.ts'
import { badRequest } from '../responses/errors.ts'
import { isIdSchema, mapIds } from '../schema/input.ts'
import { openCheck } from '../schema/validation.ts'
import type { Services } from '../services.ts'
import { type Callers, guarded, openGuards, type RouteServices } from './guards.ts'
import { openRunCommand, type RouteHooks, writeAccount, writeSecretly } from './writes.ts'

export type Route = readonly [
  method: 'get' | 'post' | 'put' | 'patch' | 'delete',
  path: string,
  definition: Query | Command<never> | AccountCommand<never, never, unknown> | OwnRoute,
  summary?: string,
  hooks?: RouteHooks,
]

/** A route that is neither a command nor a query. */
export interface OwnRoute {
  respond(context: ReadRequest): Response | Promise<Response>
  /** The route's part of the OpenAPI document. */
  detail: object
  /** The schemas of the query parameters and of the body. Without the latter, `respond` reads the body. */
  query?: TSchema | undefined
  body?: TSchema | undefined
  callers?: Callers
  budget?: BudgetName
  /** Runs before the caller is known. @throws HttpError */
  precheck?(request: Request): void
  /** The cost of reading the body, in writes. */
  costOf?(request: Request): number
}

/** Returns a function that adds routes to the app. */
export function openAddRoutes(services: RouteServices, app: AnyElysia) {
  const guardOf = openGuards(services)
  return (routes: readonly Route[], prefix = '/api/v1'): void => {
    for (const [method, path, definition, summary = '', hooks = {}] of routes) {
      const own = ownRoute(services, path, definition, summary, hooks)
      const { respond, query, body, detail, callers, budget = 'writes', costOf, precheck } = own
      const handler = guarded({
        respond,
        precheck,
        admit: guardOf(callers, budget, costOf),
        checkQuery: query && openCheck(query),
        readBody: openReadBody(services.config, body),
      })
      // Without `parse: 'none'`, Elysia would parse the body before authentication.
      app.route(method.toUpperCase(), prefix + path, handler, { parse: 'none', detail })
    }
  }
}

function ownRoute(
  services: Services,
  path: string,
  definition: Route[2],
  summary: string,
  hooks: RouteHooks,
): OwnRoute {
  if ('respond' in definition) return definition
  if ('read' in definition) return queryRoute(definition, summary)
  const operation = commandOperation(path, definition, summary)
  const { callers } = definition
  const inputOf = readInput(path, definition as WriteDefinition)
  if ('begin' in definition) {
    const command = definition as AccountCommand<RouteRequest, object, unknown>
    return {
      ...operation,
      callers,
      respond: (context) => writeAccount(services, command, context, inputOf(context)),
    }
  }
  const command = definition as Command
  const run = openRunCommand(services, command, hooks.repeat)
  const respond = (context: ReadRequest): Promise<Response> => {
    const input = inputOf(context)
    return command.isSecret ? writeSecretly(services, command, context, input, hooks) : run(context, input)
  }
  return { ...operation, callers, respond }
}

function queryRoute(query: Query, summary: string): OwnRoute {
  const { read, scope = 'read', input, body, callers } = query
  const respond = (context: ReadRequest): Promise<Response> => {
    requireScope(context.caller, scope)
    return read(context)
  }
  return { respond, query: input, body, callers, budget: 'reads', detail: queryOperation(query, summary) }
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
  const check = openCheck(Type.Object(Object.fromEntries(schemas)))
  const parts = path.split('/')
  const places = texts.map(([name, key]) => [name, key, parts.indexOf(`:${name}`) - parts.length] as const)
  /** @throws HttpError 400 */
  return ({ request: { url }, params }: RouteRequest): Record<string, string> => {
    const segments = url.replace(/\/?(\?.*)?$/s, '').split('/')
    const values: Record<string, string> = {}
    for (const [name, key, place] of places) {
      const value = decoded(segments.at(place)!)
      if (value === undefined) throw notEncoded(key)
      if (canonicalId(value) !== params[name]) throw changedByUrl(key)
      values[key] = value
    }
    check(values)
    return values
  }
}
