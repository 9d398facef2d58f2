import { type TSchema, Type } from '@sinclair/typebox'
import { forCallerAlone } from '../wire/caching.ts'
import { type ErrorStatus, reasons } from '../wire/refusals.ts'

const examples: Record<ErrorStatus, string> = {
  400: 'title is required: a text of 1 to 500 characters',
  401: 'The bearer token is not valid',
  403: 'This needs the role EDITOR in the project',
  404: 'Project not found',
  405: 'PUT is not allowed at this path, which takes GET, HEAD, POST, OPTIONS',
  408: 'The body must arrive within 15000 ms',
  409: 'This user is a member already',
  412: 'The resource has changed: its ETag is not the one in If-Match',
  413: 'The body must be at most 1048576 bytes',
  414: 'The URL must have at most 8192 characters',
  415: 'The body must be sent with Content-Type: application/json',
  422: 'This Idempotency-Key was used for another request',
  429: 'Too many requests; try again in 2 seconds',
  500: 'Something went wrong on our side',
  503: 'Too many writes wait for this project',
}

interface Operation {
  tag: string
  summary: string
  description?: string
  /** The status and body of success. */
  answers: { status: number; schema?: TSchema; description: string }
  /** Refusals beside 400, 401, 414, 429, 500 and 503, which every guarded operation may answer; with 413 comes 408. */
  refuses?: ErrorStatus[]
  open?: boolean
  /** Answers 304 to `If-None-Match`. */
  conditional?: boolean
  /** Answers a page: documents the Link header. */
  paged?: boolean
}

/** The OpenAPI side of a route. Not checked at run time: views are typed, and tests hold them to these schemas. */
export function operation({ tag, summary, description, answers, refuses = [], ...kind }: Operation) {
  const slow: ErrorStatus[] = refuses.includes(413) ? [408] : []
  const statuses: ErrorStatus[] = [...refuses, ...slow, ...(kind.open ? [] : [401 as const]), ...always]
  const errors = [...new Set(statuses)].sort().map((status) => [status, errorAnswer(status)])
  return {
    detail: {
      tags: [tag],
      summary,
      ...(description && { description }),
      security: kind.open ? [] : [{ bearer: [] }],
      responses: {
        [answers.status]: success(answers, kind),
        ...(kind.conditional && { 304: notModified }),
        ...Object.fromEntries(errors),
      },
    },
  }
}

const always = [400, 414, 429, 500, 503] as const

function success(
  { status, schema, description }: Operation['answers'],
  { conditional, paged }: Pick<Operation, 'conditional' | 'paged'>,
) {
  const headers = {
    ...(conditional && ofReads),
    ...(paged && { Link: link }),
    ...(status === 201 && made),
    ...limits,
  }
  return {
    description,
    headers,
    ...(schema && { content: { 'application/json': { schema, example: exampleOf(schema) } } }),
  }
}

const link = { description: 'The next page, rel="next"; absent on the last one', schema: { type: 'string' } }

const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example })
const made = {
  Location: text(
    'Where it is read; members, subtasks and comments: changed and removed',
    '/api/v1/tasks/019a2b3c',
  ),
}
const ofReads = {
  ETag: { description: 'For If-None-Match', schema: { type: 'string' } },
  'Cache-Control': text(
    'Kept for its caller alone, and not shown without asking again',
    forCallerAlone['cache-control'],
  ),
  Vary: text(
    'What the answer depends on beside the URL; when it is large, Accept-Encoding too',
    forCallerAlone.vary,
  ),
}
const notModified = { description: 'Not modified: the caller has this version', headers: ofReads }
const limits = {
  'RateLimit-Policy': text('The budget that applies: so many in so many seconds', '"reads";q=6000000;w=60'),
  RateLimit: text('What is left of it, and the seconds until it is full again', '"reads";r=5999321;t=42'),
}
const retryAfter = { 'Retry-After': text('The seconds to wait', '2') }
const errorHeaders: Partial<Record<ErrorStatus, object>> = {
  429: { ...retryAfter, ...limits },
  503: retryAfter,
}

function errorAnswer(status: ErrorStatus) {
  const example = { statusCode: status, message: examples[status], error: reasons[status] }
  const schema = { $ref: '#/components/schemas/Error' }
  const headers = errorHeaders[status]
  const content = { 'application/json': { schema, example } }
  return { description: reasons[status], ...(headers && { headers }), content }
}

/** The one error shape. */
export const ErrorSchema = Type.Object({
  statusCode: Type.Integer({ examples: [404] }),
  message: Type.String({ examples: ['Project not found'] }),
  error: Type.String({ description: 'The HTTP reason phrase', examples: ['Not Found'] }),
})

/** An example value, put together from the schema's own examples. */
export function exampleOf(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.type === 'object') {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, TSchema>)
    const wanted = properties.filter(([, { readOnly }]) => !readOnly)
    return Object.fromEntries(wanted.map(([name, property]) => [name, exampleOf(property)]))
  }
  if (schema.type === 'array') return [exampleOf(schema.items as TSchema)]
  if (schema.anyOf) return exampleOf(schema.anyOf[0] as TSchema)
  return schema.enum?.[0] ?? null
}

const sample = '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'
/** An opaque id in answers. */
export const Id = (description: string) => Type.String({ description, examples: [sample] })
/** A timestamp in answers. */
export const Timestamp = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2027-01-15T09:30:00.000Z'] })
/** The body of a delete's answer. */
export const Message = (message: string) => Type.Object({ message: Type.String({ examples: [message] }) })
