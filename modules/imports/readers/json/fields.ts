import type { FieldItem } from '../../items.ts'
import { FieldKeys } from '../../convert/field-keys.ts'
import type { Entry } from './entry.ts'
import { itemOf } from './items.ts'

/** Returns a line for the report if a field of the type `date` loses the time of its value. */
export const lostTime = ({ name, type }: Pick<FieldItem, 'name' | 'type'>, value: unknown): string[] =>
  type === 'date' && /T(?!00:00:00)/.test(String(value))
    ? [`The field "${name}" has only the date of ${value}`]
    : []

/** A custom field, and the names of its options by their ids. */
export interface CustomField {
  item: FieldItem
  options: ReadonlyMap<string, string>
}

interface FieldParts {
  id: string
  /** Default: text. */
  type?: FieldItem['type'] | undefined
  options?: [id: string, name: string][] | undefined
}

/** Returns the custom fields of a board by their ids. */
export function customFields(
  entries: Entry[],
  partsOf: (entry: Entry) => FieldParts,
): Map<string, CustomField> {
  const keys = new FieldKeys()
  return new Map(
    entries.map((entry, n) => {
      const name = entry.required('name')
      const { id, type = 'text', options: pairs } = partsOf(entry)
      const options = new Map(pairs)
      const item = { kind: 'field' as const, row: n + 1, key: keys.keyFor(name, id), name, type }
      return [id, { item: itemOf({ ...item, options: [...options.values()] }), options }]
    }),
  )
}

type Value = string | number | boolean

/** Returns the values of a card by field, notes for values without a field, and lines for the report. */
export function fieldValues(
  given: [id: string, value: Value | undefined][],
  known: ReadonlyMap<string, CustomField>,
) {
  const fields: Record<string, Value> = {}
  const notes: string[] = []
  const messages: string[] = []
  for (const [id, value] of given) {
    const field = known.get(id)
    if (value === undefined) continue
    if (!field) notes.push(`Custom field ${id}: ${value}`)
    else {
      fields[field.item.key] = field.options.get(String(value)) ?? value
      messages.push(...lostTime(field.item, value))
    }
  }
  return { fields, notes, messages }
}
