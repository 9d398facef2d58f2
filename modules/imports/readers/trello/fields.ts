import type { FieldItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { type CustomField, FieldKeys, lostTime } from '../json/fields.ts'
import { itemOf } from '../json/items.ts'

const types: Record<string, FieldItem['type']> = {
  text: 'text',
  number: 'number',
  checkbox: 'boolean',
  date: 'date',
  list: 'choice',
}

/** Returns the custom fields by their ids. */
export function fieldsOf(entries: Entry[]): Map<string, CustomField> {
  const keys = new FieldKeys()
  return new Map(
    entries.map((entry, n) => {
      const name = entry.required('name')
      const type = types[entry.text('type') ?? ''] ?? 'text'
      const options = new Map(
        entry
          .entries('options')
          .map((option) => [option.required('id'), option.entry('value')?.text('text') ?? '']),
      )
      const item = { kind: 'field' as const, row: n + 1, key: keys.keyFor(name), name, type }
      return [entry.required('id'), { item: itemOf({ ...item, options: [...options.values()] }), options }]
    }),
  )
}

/** Returns the values of a card, what no field can hold, and lines for the report. */
export function fieldValuesOf(card: Entry, known: ReadonlyMap<string, CustomField>) {
  const fields: Record<string, string | number | boolean> = {}
  const notes: string[] = []
  const messages: string[] = []
  for (const entry of card.entries('customFieldItems')) {
    const id = entry.required('idCustomField')
    const field = known.get(id)
    const option = entry.text('idValue')
    const value = option === undefined ? plainValueOf(entry) : (field?.options.get(option) ?? option)
    if (value === undefined) continue
    if (!field) notes.push(`Custom field ${id}: ${value}`)
    else {
      fields[field.item.key] = value
      messages.push(...lostTime(field.item, value))
    }
  }
  return { fields, notes, messages }
}

function plainValueOf(entry: Entry): string | number | boolean | undefined {
  const value = entry.entry('value')
  const number = value?.text('number')
  if (number !== undefined) return Number.isFinite(Number(number)) ? Number(number) : number
  if (value?.has('checked')) return value.isTrue('checked') || value.value.checked === 'true'
  return value?.text('text') ?? value?.text('date')
}
