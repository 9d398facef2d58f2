import { isDeepStrictEqual } from 'node:util'
import { nameOf } from '../schema/named.ts'

export interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema: Record<string, unknown>
}

export type Responses = Record<string, { content?: object }>

/** Request headers, by the response status that an operation with them has. */
const requestHeaders: Record<string, Parameter> = {
  304: header('If-None-Match', 'The ETag of an earlier answer: 304 when it still holds'),
  412: header('If-Match', 'The ETag that the resource must still have, whatever people are called by now'),
  422: header(
    'Idempotency-Key',
    'Up to 255 characters: a repeat with the same key is answered, not done again. Refusals are not kept: after one, the same key begins anew',
    { minLength: 1, maxLength: 255 },
  ),
}

/** A page or a stream, as the caller accepts. */
const isEither = ({ 200: done }: Responses): boolean =>
  ['application/json', 'text/event-stream'].every((type) => type in (done?.content ?? {}))
const lastEventId = header(
  'Last-Event-ID',
  "The seq of the last event that a stream's reader had: it wins over `after`",
  { type: 'integer', minimum: 0 },
)

function header(name: string, description: string, bounds = {}): Parameter {
  return { name, in: 'header', required: false, description, schema: { type: 'string', ...bounds } }
}

/** The parameters of path and query that the plugin knows, and the headers. */
export const parametersOf = (path: string, known: Parameter[], responses: Responses): Parameter[] => [
  ...known.map((one) => (one.in === 'path' ? pathParameter(path, one.name) : queryParameter(one))),
  ...Object.entries(requestHeaders).flatMap(([status, one]) => (status in responses ? [one] : [])),
  ...(isEither(responses) ? [lastEventId] : []),
]

function pathParameter(path: string, name: string): Parameter {
  const what = new RegExp(`(\\w+)s/\\{${name}\\}`).exec(path)?.[1] ?? ''
  const description = `The id of ${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what}`
  return { name, in: 'path', required: true, description, schema: { type: 'string', format: 'uuid' } }
}

/** Without example values: the UI would fill them in and send them. */
function queryParameter({ name, required, description, schema: given }: Parameter): Parameter {
  const { fallback, ...own } = given
  const schema = {
    ...own,
    ...(fallback !== undefined && { default: fallback }),
    ...(nameOf(own) && { description }),
  }
  return { name, in: 'query', required, description, schema }
}

/** Parameters of several operations, as components, and what an operation has instead of one. */
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

/** `TaskId` for the id of a task, `Limit`, `If-Match`. */
function componentName({ name, in: place, description = '' }: Parameter): string {
  const words = place === 'path' ? `${description.split(' ').at(-1)}Id` : name
  return words.charAt(0).toUpperCase() + words.slice(1)
}
