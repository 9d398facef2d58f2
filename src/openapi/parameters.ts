import type { TSchema } from '@sinclair/typebox'
import { isDeepStrictEqual } from 'node:util'
import { capital, nameOf } from '../schema/response.ts'

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: object
}

const header = (name: string, description: string, bounds = {}): Parameter => ({
  ...{ name, in: 'header', required: false, description },
  schema: { type: 'string', ...bounds },
})

export const requestHeaders = {
  ifMatch: header(
    'If-Match',
    'The ETag that the resource must have, with or without `W/`; a changed name of a user does not matter',
  ),
  ifClaim: header(
    'Docket-If-Claim',
    'The id of a task in the project, a space, and the `seq` of its claim. The write gets 412 once this claim has ended',
  ),
  ifNoneMatch: header(
    'If-None-Match',
    'The ETag of an earlier response; the response is 304 if the resource still has this ETag',
  ),
  idempotencyKey: header(
    'Idempotency-Key',
    'Up to 255 characters. A retry with the same key gets the stored response, and the write runs once. Errors are not stored: after an error, the same key may be used again',
    { minLength: 1, maxLength: 255 },
  ),
  lastEventId: header(
    'Last-Event-ID',
    'The seq of the last event that the client has received; it takes precedence over `after`',
    { type: 'integer', minimum: 0 },
  ),
}
export type RequestHeader = keyof typeof requestHeaders

/** Leaves out the examples, because Swagger UI would fill them in and send them. */
export const queryParameters = ({ properties, required = [] }: TSchema): Parameter[] =>
  Object.entries<TSchema>(properties).map(([name, { type, description, examples: _, fallback, ...rest }]) => {
    const schema = {
      ...{ type, ...rest },
      ...(fallback !== undefined && { default: fallback }),
      ...(nameOf(rest) && { description }),
    }
    return { name, in: 'query', required: required.includes(name), description, schema }
  })

/** Describes a parameter of the path, of which the plugin knows only the name. */
export function pathParameter(path: string, name: string): Parameter {
  const noun = new RegExp(`(\\w+)s/\\{${name}\\}`).exec(path)?.[1]
  const [description, schema] = noun
    ? [`The id of ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`, { type: 'string', format: 'uuid' }]
    : [`The ${name}, percent-encoded`, { type: 'string', minLength: 1 }]
  return { name, in: 'path', required: true, description, schema }
}

/** The names that a component may have. */
const isName = /^[\w.-]+$/

/** Makes a component of each parameter that several operations have. */
export function sharedParameters(all: Parameter[]) {
  const uses = Map.groupBy(all, (one) => JSON.stringify(one))
  const named: Record<string, Parameter> = {}
  for (const [one, ...others] of uses.values())
    if (others.length > 0 && isName.test(one!.name)) named[componentName(one!)] ??= one!
  const refer = (one: Parameter): object => {
    const name = componentName(one)
    return isDeepStrictEqual(named[name], one) ? { $ref: `#/components/parameters/${name}` } : one
  }
  return { named, refer }
}

const componentName = ({ name, in: place, description = '' }: Parameter): string =>
  capital(place === 'path' ? `${description.split(' ').at(-1)}Id` : name)
