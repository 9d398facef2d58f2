import { nameOf } from '../schema/named.ts'

export interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema: Record<string, unknown>
}

/** What an operation answers, by the status. */
export type Responses = Record<string, { content?: object }>

/** Headers that an operation understands, told by the statuses it answers. */
const understood: Record<string, Parameter> = {
  304: header('If-None-Match', 'The ETag of an earlier answer: 304 when it still holds'),
  412: header('If-Match', 'The ETag that the resource must still have, whatever people are called by now'),
  422: header(
    'Idempotency-Key',
    'Up to 255 characters: a repeat with the same key is answered, not done again. Refusals are not kept: after one, the same key begins anew',
    { minLength: 1, maxLength: 255 },
  ),
}

/** What is a page or a stream, as it is asked for, goes on where its reader was cut. */
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

/** An operation's parameters: what the plugin knows of path and query, and the headers. */
export const parametersOf = (path: string, known: Parameter[], responses: Responses): Parameter[] => [
  ...known.map((one) => (one.in === 'path' ? pathParameter(path, one.name) : queryParameter(one))),
  ...Object.entries(understood).flatMap(([status, one]) => (status in responses ? [one] : [])),
  ...(isEither(responses) ? [lastEventId] : []),
]

function pathParameter(path: string, name: string): Parameter {
  const what = new RegExp(`(\\w+)s/\\{${name}\\}`).exec(path)?.[1]
  const schema = { type: 'string', format: 'uuid' }
  return {
    name,
    in: 'path',
    required: true,
    description: `The id of ${/^[aeiou]/.test(what ?? '') ? 'an' : 'a'} ${what}`,
    schema,
  }
}

/** Without example values: the UI would fill them in and send them. */
function queryParameter({
  name,
  required,
  description,
  schema: { fallback, ...schema },
}: Parameter): Parameter {
  const told = {
    ...schema,
    ...(fallback !== undefined && { default: fallback }),
    ...(nameOf(schema) && { description }),
  }
  return { name, in: 'query', required, description, schema: told }
}

/** The parameters that several operations have, by a name of their own, and how an operation refers to one. */
export function shared(all: Parameter[]) {
  const uses = Map.groupBy(all, (one) => JSON.stringify(one))
  const named = new Map<string, Parameter>()
  for (const [one, ...others] of uses.values()) {
    if (one && others.length > 0 && !named.has(componentName(one))) named.set(componentName(one), one)
  }
  const isShared = (one: Parameter) => JSON.stringify(named.get(componentName(one))) === JSON.stringify(one)
  return {
    named: Object.fromEntries(named),
    refer: (one: Parameter): object =>
      isShared(one) ? { $ref: `#/components/parameters/${componentName(one)}` } : one,
  }
}

/** `TaskId` for the id of a task, `Limit`, `If-Match`. */
function componentName({ name, in: place, description = '' }: Parameter): string {
  const words = place === 'path' ? `${description.split(' ').at(-1)}Id` : name
  return words.charAt(0).toUpperCase() + words.slice(1)
}
