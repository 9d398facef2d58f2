import type { TSchema } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { badRequest, unknownName, type HttpError } from '../responses/errors.ts'
import { nearest } from './nearest.ts'
import { orNull } from './text.ts'

const maxMessages = 5

/**
 * The 400 for a value that does not fit its schema: each field once, with the beginning of its description, so that
 * message and documentation agree.
 */
export function validationError(errors: Iterable<ValueError>): HttpError {
  const wants = new Map<string, string>()
  for (const error of errors) {
    if (!wants.has(error.path)) wants.set(error.path, sentence(error))
    if (wants.size === maxMessages) break
  }
  return badRequest([...wants.values()].join('; '))
}

function sentence({ path, type, schema, value }: ValueError): string {
  if (!path) return 'The body must be a JSON object'
  const field = path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  if (type === ValueErrorType.ObjectAdditionalProperties) return unknown(field.slice(0, 100), schema)
  const wanted = whatIs(schema.description ?? `a ${schema.type}`)
  const what = wanted.charAt(0).toLowerCase() + wanted.slice(1)
  return value === undefined ? `${field} is required: ${what}` : `${field} must be ${what}`
}

/** A description without its explanation, which begins with a colon. */
function whatIs(description: string): string {
  const [what = ''] = description.split(': ', 1)
  return what.length < description.length && description.endsWith(orNull) ? what + orNull : what
}

/** Suggests the nearest name, except those of ignored fields. */
function unknown(name: string, { properties }: TSchema): string {
  const fields = Object.keys(properties).filter((one) => !properties[one].readOnly)
  const meant = nearest(name.slice(name.lastIndexOf('.') + 1), fields)
  return unknownName(name) + (meant ? `; did you mean ${meant}?` : '')
}
