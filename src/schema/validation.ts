import { distance } from 'fastest-levenshtein'
import type { TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { badRequest, unknownName, type HttpError } from '../responses/errors.ts'
import { unstorableIn } from './input.ts'

const maxMessages = 5

/** Returns a function that checks a value. Compiles the schema at the first call. @throws HttpError 400 */
export function openCheck(schema: TSchema): (value: unknown) => void {
  let check: TypeCheck<TSchema> | undefined
  return (value) => {
    check ??= TypeCompiler.Compile(schema)
    if (!check.Check(value)) throw validationError(check.Errors(value))
  }
}

/** Lists each invalid field once, with the beginning of its description, so that message and documentation agree. */
export function validationError(errors: Iterable<ValueError>): HttpError {
  const messages = new Map<string, string>()
  for (const error of errors) {
    if (!messages.has(error.path)) messages.set(error.path, messageOf(error))
    // Searching the items of a list that is too long could block the process.
    if (messages.size === maxMessages || error.type === ValueErrorType.ArrayMaxItems) break
  }
  return badRequest([...messages.values()].join('; '))
}

function messageOf({ path, type, schema, value }: ValueError): string {
  if (!path) return 'The body must be a JSON object'
  const field = path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  if (type === ValueErrorType.ObjectAdditionalProperties) return unknown(field.slice(0, 100), schema)
  const [expected = ''] = (schema.description ?? typeNames[schema.type] ?? 'another value').split(': ', 1)
  const text = expected.charAt(0).toLowerCase() + expected.slice(1)
  if (value === undefined) return `${field} is required: ${text}`
  return `${field} must be ${text}${hintFor(schema, value)}`
}

/** The words after "must be" for a schema without a description. */
const typeNames: Record<string, string> = {
  ...{ string: 'a text', integer: 'a whole number', number: 'a number', boolean: 'true or false' },
  ...{ array: 'a list', object: 'an object' },
}

/** A time whose `+` a URL decoder has replaced by a space. */
const spaceForPlus = /^\d{4}-\d{2}-\d{2}[Tt ][\d:.]+ \d{2}:?\d{2}$/

/** Names a mistake in a text that is hard to see. */
function hintFor({ anyOf, ...schema }: TSchema, value: unknown): string {
  if (Array.isArray(value)) return value.map(unstorableIn).find(Boolean) ?? ''
  const isText = ((anyOf ?? [schema]) as TSchema[]).some((one) => one.type === 'string' && !one.enum)
  if (!isText || typeof value !== 'string') return ''
  const isTime = schema.description?.includes('date-time')
  return isTime && spaceForPlus.test(value) ? '; write %2B for + in a URL' : unstorableIn(value)
}

function unknown(name: string, { properties }: TSchema): string {
  return unknownOf(
    name,
    Object.keys(properties).filter((one) => !properties[one].readOnly),
  )
}

export const unknownField = (name: string, fields: string[]) =>
  badRequest(unknownOf(name.slice(0, 100), fields))

function unknownOf(name: string, fields: string[]): string {
  const suggestion = nearest(name.slice(name.lastIndexOf('.') + 1), fields)
  return unknownName(name) + (suggestion ? `; did you mean ${suggestion}?` : '')
}

/** The largest edit distance of a suggestion. For a short name, the limit is half the length of the name. */
const maxEdits = 3

/** Returns the same text for `created_at` and `createdAt`. */
const bare = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')

export function nearest(name: string, names: string[]): string | undefined {
  const misspelt = bare(name)
  let best: string | undefined
  let least = Infinity
  for (const one of names) {
    const other = bare(one)
    const isShort = Math.min(misspelt.length, other.length) < 3
    const isPart = !isShort && (other.includes(misspelt) || misspelt.includes(other))
    const edits = isPart ? 1 : distance(misspelt, other)
    const limit = Math.min(maxEdits, Math.max(misspelt.length, other.length) / 2)
    if (edits <= limit && edits < least) [best, least] = [one, edits]
  }
  return best
}
