import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { WriteDefinition } from '../commands/command.ts'
import type { RouteRequest } from '../commands/route-request.ts'
import { canonicalId } from '../id-format.ts'
import { badRequest } from '../responses/errors.ts'
import { isIdSchema } from '../schema/input.ts'
import { validationError } from '../schema/validation.ts'

const changedByUrl = (name: string) =>
  badRequest(
    `${name} must not be "." or ".." in a path, and a backslash must be sent as %5C: "." and ".." can be sent in the body of a batch`,
  )
const notEncoded = (name: string) => badRequest(`${name} must be percent-encoded UTF-8`)

/**
 * Returns a function that reads the path parameters that are not ids; undefined if there are none. The router replaces
 * malformed bytes, and ids are converted to lower case, so these parameters are read from the URL. But the URL is
 * normalized, unlike the path that the router read: its segments may be others.
 */
export function readPathTexts(
  path: string,
  { input }: WriteDefinition<never>,
  pathParameters: [string, string][],
) {
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
