import type { FieldItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { FieldKeys } from '../json/fields.ts'

/** Returns the custom fields by their ids. */
export function fieldsOf(entries: Entry[]): Map<string, FieldItem> {
  const keys = new FieldKeys()
  return new Map(
    entries.map((entry, n): [string, FieldItem] => {
      const name = entry.required('name')
      return [entry.required('id'), { kind: 'field', row: n + 1, key: keys.keyFor(name), name, type: 'text' }]
    }),
  )
}

/** Returns the values of a card, and what no field can hold. */
export function fieldValuesOf(values: Entry[], known: ReadonlyMap<string, FieldItem>) {
  const fields: Record<string, string> = {}
  const notes: string[] = []
  for (const value of values) {
    const [id, content] = [value.required('customFieldId'), value.text('content')]
    if (content === undefined) continue
    const field = known.get(id)
    if (field) fields[field.key] = content
    else notes.push(`Custom field ${id}: ${content}`)
  }
  return { fields, notes }
}
