import type { FieldItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { type CustomField, customFields, fieldValues } from '../json/fields.ts'

const types: Record<string, FieldItem['type']> = {
  number: 'number',
  checkbox: 'boolean',
  date: 'date',
  list: 'choice',
}

export const fieldsOf = (entries: Entry[]) =>
  customFields(entries, (entry) => ({
    id: entry.required('id'),
    type: types[entry.text('type') ?? ''],
    options: entry
      .entries('options')
      .map((option) => [option.required('id'), option.entry('value')?.text('text') ?? '']),
  }))

export function fieldValuesOf(card: Entry, fields: ReadonlyMap<string, CustomField>) {
  const items = card.entries('customFieldItems')
  return fieldValues(
    items.map((item) => [item.required('idCustomField'), item.text('idValue') ?? plainValueOf(item)]),
    fields,
  )
}

function plainValueOf(entry: Entry): string | number | boolean | undefined {
  const value = entry.entry('value')
  const number = value?.text('number')
  if (number !== undefined) return Number.isFinite(Number(number)) ? Number(number) : number
  if (value?.has('checked')) return value.isTrue('checked') || value.value.checked === 'true'
  return value?.text('text') ?? value?.text('date')
}
