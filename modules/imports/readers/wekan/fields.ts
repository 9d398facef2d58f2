import type { FieldItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { type CustomField, FieldKeys, lostTime } from '../json/fields.ts'
import { itemOf } from '../json/items.ts'
import { idOf } from './ids.ts'

const types: Record<string, FieldItem['type']> = {
  number: 'number',
  currency: 'number',
  checkbox: 'boolean',
  date: 'date',
  dropdown: 'choice',
}

/** Returns the custom fields by their ids. */
export function fieldsOf(entries: Entry[]): Map<string, CustomField> {
  const keys = new FieldKeys()
  return new Map(
    entries.map((entry, n) => {
      const name = entry.required('name')
      const type = types[entry.text('type') ?? ''] ?? 'text'
      const settings = type === 'choice' ? entry.entry('settings')?.entries('dropdownItems') : undefined
      const options = new Map(settings?.map((option) => [idOf(option), option.text('name') ?? '']))
      const item = { kind: 'field' as const, row: n + 1, key: keys.keyFor(name), name, type }
      return [idOf(entry), { item: itemOf({ ...item, options: [...options.values()] }), options }]
    }),
  )
}

/** Returns the values of a card, what no field can hold, and lines for the report. */
export function fieldValuesOf(card: Entry, fields: ReadonlyMap<string, CustomField>) {
  const values: Record<string, string | number | boolean> = {}
  const notes: string[] = []
  const messages: string[] = []
  for (const entry of card.entries('customFields')) {
    const id = idOf(entry)
    const field = fields.get(id)
    const given = entry.value.value ?? ''
    const value = Array.isArray(given) ? entry.texts('value').join(', ') : given
    if (typeof value === 'object' || value === '') continue
    if (!field) notes.push(`Custom field ${id}: ${value}`)
    else {
      values[field.item.key] = field.options.get(String(value)) ?? value
      messages.push(...lostTime(field.item, value))
    }
  }
  return { fields: values, notes, messages }
}
