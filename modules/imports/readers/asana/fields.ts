import type { FieldItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { FieldKeys } from '../../convert/field-keys.ts'
import { cut } from '../../convert/texts.ts'
import { lostTime } from '../json/fields.ts'
import { itemOf } from '../json/items.ts'
import { maxNames } from '../json/limits.ts'
import { KeyMap } from '../key-map.ts'

type Value = string | number | undefined

const types: Record<string, FieldItem['type']> = { number: 'number', date: 'date', enum: 'choice' }

type Field = Pick<FieldItem, 'key' | 'name' | 'type'>
const maxName = 100

/** The custom fields of a file. Each task repeats the definition of its fields. */
export class AsanaFields {
  private readonly keys = new FieldKeys()
  private readonly fields = new KeyMap<Field>()

  /** Returns the values of the task. `items` has the fields that no earlier task had. */
  of(task: Entry) {
    const items: FieldItem[] = []
    const fields: Record<string, string | number> = {}
    const notes: string[] = []
    const messages: string[] = []
    for (const entry of task.entries('custom_fields')) {
      const name = entry.text('name')
      const value = valueOf(entry)
      if (name === undefined || value === undefined) continue
      const field = this.fields.get(name) ?? this.add(name, entry, items)
      if (!field) notes.push(`${name}: ${value}`)
      else {
        fields[field.key] = value
        messages.push(...lostTime(field, value))
      }
    }
    return { items, fields, notes, messages }
  }

  private add(name: string, entry: Entry, items: FieldItem[]): Field | undefined {
    if (this.fields.size === maxNames) return undefined
    const options = entry.entries('enum_options').flatMap((option) => option.text('name') ?? [])
    const type = types[typeOf(entry)] ?? 'text'
    const item: FieldItem = itemOf({
      ...{ kind: 'field', row: entry.row, key: this.keys.keyFor(name), name },
      ...(type === 'choice' && options.length === 0 ? { type: 'text' } : { type, options }),
    })
    items.push(item)
    const field = { key: item.key, name: cut(name, maxName), type: item.type }
    this.fields.set(name, field)
    return field
  }
}

const typeOf = (entry: Entry): string => entry.text('resource_subtype') ?? entry.text('type') ?? ''

function valueOf(entry: Entry): Value {
  const type = typeOf(entry)
  if (type === 'number') return entry.number('number_value')
  if (type === 'enum') return entry.entry('enum_value')?.text('name')
  if (type === 'date') {
    const date = entry.entry('date_value')
    return date?.text('date_time') ?? date?.text('date')
  }
  return entry.text('text_value') ?? entry.text('display_value')
}
