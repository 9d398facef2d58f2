import type { Field, Task } from '../schemas.ts'

type Values = Task['fields']

/**
 * Returns the values of custom fields after an event. `after` also contains values that the service does not show, so
 * a value that the event has not changed stays only if it was there before.
 */
export function fieldsAfter(present: Values = {}, before: Values = {}, after: Values): Values {
  const isKnown = ([key, value]: [string, unknown]) => before[key] !== value || key in present
  return Object.fromEntries(Object.entries(after).filter(isKnown))
}

/** Returns the values that the fields of the project accept. */
export function shownFields(values: Values, fields: Iterable<Field>): Values {
  if (Object.keys(values).length === 0) return values
  const byKey = new Map([...fields].map((field) => [field.key, field]))
  return Object.fromEntries(Object.entries(values).filter(([key, value]) => fits(byKey.get(key), value)))
}

function fits(field: Field | undefined, value: unknown): boolean {
  if (!field) return false
  if (field.type === 'choice') return field.options!.includes(String(value))
  if (field.type === 'date') return /^\d{4}-\d\d-\d\d$/.test(String(value))
  return typeof value === (field.type === 'text' ? 'string' : field.type)
}
