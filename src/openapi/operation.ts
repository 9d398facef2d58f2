import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type Scope, scopeNeeded, signInNeeded } from '../identity/rights.ts'
import { validationError } from '../schema/validation.ts'
import type { ErrorStatus, HttpError } from '../responses/errors.ts'
import { commonResponse, errorResponses } from './error-responses.ts'

interface Operation {
  /** A verb and a noun: clients call it by this name. */
  id: string
  tag: string
  summary: string
  description?: string
  body?: TSchema
  query?: TSchema
  /** Needs no token. */
  open?: boolean
  /** Of API tokens; without one it takes a sign-in token. */
  scope?: Scope
  /** Responses without an error, by status. */
  responses: Record<number, object | undefined>
  /** Statuses of errors whose text is always the same, beside those of all operations. */
  general: ErrorStatus[]
  errors: HttpError[]
}

/**
 * What Elysia and the document know of a route. Responses are not checked at run time: views are typed, and tests compare
 * responses with these schemas.
 */
export function operation({ id, tag, summary, body, query, open, scope, ...own }: Operation) {
  const token = scope ? `An API token needs the scope ${scope}.` : 'Takes a sign-in token.'
  const general: ErrorStatus[] = [
    ...([414, 429, 500, 503] as const),
    ...(open ? [] : ([401] as const)),
    ...(body ? ([408, 413, 415] as const) : []),
    ...own.general,
  ]
  return {
    ...(body && { jsonBody: kindOf(body), body }),
    ...(!body && { parse: 'none' as const }),
    ...(query && { query }),
    detail: {
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

const kindOf = (body: TSchema): 'optional' | 'required' => (body.default ? 'optional' : 'required')

/** The errors of API tokens, in the order in which they are checked. Every token may read. */
const withTokens = (errors: HttpError[], scope?: Scope): HttpError[] => [
  ...(scope ? [] : [signInNeeded()]),
  ...errors,
  ...(scope && scope !== 'read' ? [scopeNeeded(scope)] : []),
]

/** The error of a request that does not fit, in the words of the check itself. */
export function sampleValidationError(body?: TSchema, query?: TSchema): HttpError | undefined {
  if (body) return validationError(Value.Errors(body, body.required?.length ? {} : { [firstOf(body)]: 0 }))
  return query && validationError(Value.Errors(query, { [`${firstOf(query)}s`]: '' }))
}

const firstOf = ({ properties }: TSchema): string => Object.keys(properties)[0]!
