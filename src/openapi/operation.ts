import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type Scope, scopeNeeded, signInNeeded } from '../identity/rights.ts'
import { validationError } from '../schema/validation.ts'
import type { ErrorStatus, HttpError } from '../responses/errors.ts'
import { commonResponse, errorResponses } from './document.ts'
import { requestHeadersKey } from './parameters.ts'

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
  /** Request headers of writes: see parameters.ts. */
  requestHeaders?: string[]
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
  return {
    // Elysia would parse the body before authentication (https://elysiajs.com/essential/life-cycle).
    parse: 'none' as const,
    ...(query && { query }),
    detail: {
      ...(body && { requestBody: { content: { 'application/json': { schema: body } } } }),
      operationId: id,
      tags: [tag],
      summary,
      description: [own.description, open ? '' : token].filter(Boolean).join(' '),
      security: open ? [] : [{ bearer: [] }],
      ...(scope && { 'x-scope': scope }),
      ...(own.requestHeaders && { [requestHeadersKey]: own.requestHeaders }),
      responses: {
        ...own.responses,
        ...Object.fromEntries(general.map((status) => [status, commonResponse(status)])),
        ...errorResponses(open ? own.errors : withTokens(own.errors, scope)),
      },
    },
  }
}

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
