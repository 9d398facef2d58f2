import type { FieldItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { type CustomField, customFields, fieldValues } from '../json/fields.ts'
import { idOf } from './ids.ts'

const types: Record<string, FieldItem['type']> = {
  number: 'number',
  currency: 'number',
  checkbox: 'boolean',
  date: 'date',
  dropdown: 'choice',
}

export const fieldsOf = (entries: Entry[]) =>
  customFields(entries, (entry) => {
    const type = types[entry.text('type') ?? '']
    const items = type === 'choice' ? entry.entry('settings')?.entries('dropdownItems') : undefined
    return { id: idOf(entry), type, options: items?.map((item) => [idOf(item), item.text('name') ?? '']) }
  })

export const fieldValuesOf = (card: Entry, fields: ReadonlyMap<string, CustomField>) =>
  fieldValues(
    card.entries('customFields').map((entry) => [idOf(entry), valueOf(entry)]),
    fields,
  )

function valueOf(entry: Entry): string | number | boolean | undefined {
  const given = entry.value.value ?? ''
  const value = Array.isArray(given) ? entry.texts('value').join(', ') : given
  return typeof value === 'object' || value === '' ? undefined : value
}
