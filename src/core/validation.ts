import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { badRequest, type Refusal } from './errors.ts'

const shown = 5

/**
 * The 400 for a value that does not fit its schema: each field once, with what it wants (its description in the
 * schema, so that message and documentation say the same).
 */
export function invalid(errors: Iterable<ValueError>): Refusal {
  const wants = new Map<string, string>()
  for (const error of errors) {
    const field = error.path.slice(1).replaceAll('/', '.')
    if (!wants.has(field) && wants.size < shown) wants.set(field, sentence(field, error))
  }
  return badRequest([...wants.values()].join('; '))
}

/** True when a value from JSON has more than `levels` of lists and objects inside one another. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true
  return false
}

function sentence(field: string, { type, schema, value }: ValueError): string {
  if (!field) return 'The body must be a JSON object'
  if (type === ValueErrorType.ObjectAdditionalProperties) return `${field.slice(0, 100)} is not known here`
  const wanted: string = schema.description ?? `a ${schema.type}`
  const what = wanted.charAt(0).toLowerCase() + wanted.slice(1)
  return value === undefined ? `${field} is required: ${what}` : `${field} must be ${what}`
}
