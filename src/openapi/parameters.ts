import { isDeepStrictEqual } from 'node:util'
import { capital, nameOf } from '../schema/response.ts'

export interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema: Record<string, unknown>
}

export type Responses = Record<string, { content?: object }>

/** Request headers by response status: an operation that may return the status accepts the header. */
const requestHeaders: Record<string, Parameter> = {
  304: header(
    'If-None-Match',
    'The ETag of an earlier response; the response is 304 if the resource still has this ETag',
  ),
  422: header(
    'Idempotency-Key',
    'Up to 255 characters. A retry with the same key gets the stored response, and the write runs once. Errors are not stored: after an error, the same key may be used again',
    { minLength: 1, maxLength: 255 },
  ),
}

/** The operation's field that names its headers. The document shows them as parameters. */
export const requestHeadersKey = 'x-request-headers'

const namedHeaders = [
  header(
    'If-Match',
    'The ETag that the resource must have, with or without `W/`; a changed name of a user does not matter',
  ),
  header(
    'Docket-If-Claim',
    'The id of a task in the project, a space, and the `seq` of its claim. The write gets 412 once this claim has ended',
  ),
]

const lastEventId = header(
  'Last-Event-ID',
  'The seq of the last event that the client has received; it takes precedence over `after`',
  { type: 'integer', minimum: 0 },
)

function header(name: string, description: string, bounds = {}): Parameter {
  return { name, in: 'header', required: false, description, schema: { type: 'string', ...bounds } }
}

export const parametersOf = (
  path: string,
  known: Parameter[],
  responses: Responses,
  names: string[] = [],
): Parameter[] => [
  ...known.map((one) => (one.in === 'path' ? pathParameter(path, one.name) : queryParameter(one))),
  ...namedHeaders.filter(({ name }) => names.includes(name)),
  ...Object.entries(requestHeaders).flatMap(([status, one]) => (status in responses ? [one] : [])),
  // A read with two content types responds with a page or a stream.
  ...(304 in responses && Object.keys(responses[200]?.content ?? {}).length > 1 ? [lastEventId] : []),
]

function pathParameter(path: string, name: string): Parameter {
  const noun = new RegExp(`(\\w+)s/\\{${name}\\}`).exec(path)?.[1]
  if (!noun) {
    const schema = { type: 'string', minLength: 1 }
    return { name, in: 'path', required: true, description: `The ${name}, percent-encoded`, schema }
  }
  const description = `The id of ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
  return { name, in: 'path', required: true, description, schema: { type: 'string', format: 'uuid' } }
}

/** Removes example values, because Swagger UI would fill them in and send them. */
function queryParameter({ name, required, description, schema: given }: Parameter): Parameter {
  const { fallback, ...own } = given
  const schema = {
    ...own,
    ...(fallback !== undefined && { default: fallback }),
    ...(nameOf(own) && { description }),
  }
  return { name, in: 'query', required, description, schema }
}

export function sharedParameters(all: Parameter[]) {
  const uses = Map.groupBy(all, (one) => JSON.stringify(one))
  const named: Record<string, Parameter> = {}
  for (const [one, ...others] of uses.values()) if (others.length > 0) named[componentName(one!)] ??= one!
  const refer = (one: Parameter): object => {
    const name = componentName(one)
    return isDeepStrictEqual(named[name], one) ? { $ref: `#/components/parameters/${name}` } : one
  }
  return { named, refer }
}

function componentName({ name, in: place, description = '' }: Parameter): string {
  const words = place === 'path' ? `${description.split(' ').at(-1)}Id` : name
  return capital(words)
}
