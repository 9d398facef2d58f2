import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type Scope, scopeNeeded, signInNeeded } from '../identity/rights.ts'
import type { ErrorStatus, HttpError } from '../responses/errors.ts'
import { unique } from '../schema/response.ts'
import { validationError } from '../schema/validation.ts'
import { commonResponse, errorResponses } from './document.ts'
import { queryParameters, type RequestHeader, requestHeaders } from './parameters.ts'

interface Operation {
  /** Generated clients use the id, such as `createTask`, as the function name. */
  id: string
  tag: string
  summary: string
  description?: string
  body?: TSchema
  query?: TSchema
  open?: boolean
  /** The scope that an API token needs; undefined if the operation needs a sign-in token. */
  scope?: Scope
  responses: Record<number, object | undefined>
  /** Statuses of common errors that not every operation has. */
  general?: ErrorStatus[]
  requestHeaders?: RequestHeader[]
  errors: HttpError[]
}

/** Responses are not validated at run time: views are typed, and tests compare responses with these schemas. */
export function operation({ id, tag, summary, body, query, open, scope, ...own }: Operation) {
  const token = scope ? `An API token needs the scope ${scope}.` : 'Requires a sign-in token.'
  const general: ErrorStatus[] = [
    ...([414, 429, 500, 503] as const),
    ...(open ? [] : ([401] as const)),
    ...(body ? ([408, 413, 415] as const) : []),
    ...(own.general ?? []),
  ]
  const names = [
    ...(own.requestHeaders ?? []),
    ...(general.includes(422) ? (['idempotencyKey'] as const) : []),
  ]
  return {
    // Elysia would parse the body before authentication (https://elysiajs.com/essential/life-cycle).
    parse: 'none' as const,
    ...(query && { query }),
    detail: {
      ...(body && { requestBody: requestBody(body) }),
      parameters: [...(query ? queryParameters(query) : []), ...names.map((name) => requestHeaders[name])],
      operationId: id,
      tags: [tag],
      summary,
      description: [own.description, open ? '' : token].filter(Boolean).join(' '),
      security: open ? [] : [{ bearer: [] }],
      ...(scope && { 'x-scope': scope }),
      responses: {
        ...own.responses,
        ...Object.fromEntries(general.map((status) => [status, commonResponse(status)])),
        ...errorResponses(open ? own.errors : withTokens(own.errors, scope)),
      },
    },
  }
}

const requestBody = (schema: TSchema) => ({
  required: schema.default === undefined,
  ...(schema.description && { description: schema.description }),
  content: { 'application/json': { schema, example: requestExample(schema) } },
})

/** Adds the errors for API tokens, in the order of the checks. Every token has the scope `read`. */
const withTokens = (errors: HttpError[], scope?: Scope): HttpError[] => [
  ...(scope ? [] : [signInNeeded()]),
  ...errors,
  ...(scope && scope !== 'read' ? [scopeNeeded(scope)] : []),
]

export function sampleValidationError(body?: TSchema, query?: TSchema): HttpError | undefined {
  if (body) return validationError(Value.Errors(body, body.required?.length ? {} : { [firstOf(body)]: 0 }))
  return query && validationError(Value.Errors(query, { [`${firstOf(query)}s`]: '' }))
}

const firstOf = ({ properties }: TSchema): string => Object.keys(properties)[0]!

/** Example bodies omit optional fields of these formats, because the valid values depend on stored data. */
const formatsOfReferences = ['uuid', 'password', 'int64']

/** Builds an example body from the examples of its fields. With valid ids in the path, the example works unchanged. */
function requestExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  const { properties, required = [] } = schema
  return examplesOf(properties, (name, one) => required.includes(name) || !(one.readOnly || isReference(one)))
}

export function responseExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.type === 'object') return examplesOf(schema.properties)
  if (schema.type === 'array') return [responseExample(schema.items)]
  if (schema.anyOf) return responseExample(schema.anyOf[0])
  if (schema.type === 'boolean') return true
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? schema.maximum ?? 1
  return schema.enum?.[0] ?? null
}

type IsGiven = (name: string, schema: TSchema) => boolean

function examplesOf(properties: Record<string, TSchema>, isGiven: IsGiven = () => true) {
  const included = Object.entries(properties).filter(([name, one]) => isGiven(name, one))
  return Object.fromEntries(included.map(([name, one]) => [name, responseExample(one)]))
}

const isReference = (schema: TSchema): boolean =>
  formatsOfReferences.includes(schema.format) ||
  unique in schema ||
  [schema.items ?? [], schema.anyOf ?? [], Object.values(schema.properties ?? {})].flat().some(isReference)
