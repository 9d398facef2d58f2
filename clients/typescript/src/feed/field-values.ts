import type { Field, Task } from '../schemas.ts'

type Values = Task['fields']

/**
 * Returns the values of custom fields after an event. `after` of the event also contains hidden values, such as the values
 * of deleted fields. So a value that the event has not changed is omitted if it is not in `present`.
 */
export function fieldsAfter(present: Values = {}, before: Values = {}, after: Values): Values {
  const isShown = ([key, value]: [string, unknown]) => before[key] !== value || key in present
  return Object.fromEntries(Object.entries(after).filter(isShown))
}

/** Returns the values that the service shows: the project has a field with this key that accepts the value. */
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
