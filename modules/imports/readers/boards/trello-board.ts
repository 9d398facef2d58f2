import type { FieldItem, ImportedPerson, LabelItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { type CustomField, FieldKeys, itemOf } from '../json/items.ts'
import type { JsonFile } from '../json/json-file.ts'
import { maxNames } from '../json/limits.ts'
import { colorOf, trelloColors } from './colors.ts'

export interface Board {
  lists: ReadonlyMap<string, Entry>
  labels: { items: LabelItem[]; names: ReadonlyMap<string, string> }
  /** By their ids. */
  fields: ReadonlyMap<string, CustomField>
  member(id: string | undefined): ImportedPerson | undefined
}

/** Reads what cards refer to. The file has it after the cards. */
export async function boardOf(file: JsonFile): Promise<Board> {
  const parts = {
    'lists.*': maxNames,
    'labels.*': maxNames,
    'members.*': maxNames,
    'customFields.*': maxNames,
  }
  const index = await file.index(parts, { omit: ['limits', 'display', 'prefs', 'nonPublic'] })
  const [lists, labels] = [index['lists.*'], index['labels.*']]
  const people = new Map(index['members.*'].map((member) => [member.required('id'), personOf(member)]))
  return {
    lists: new Map(lists.map((list) => [list.required('id'), list])),
    labels: {
      items: labels.map((label, n) => labelOf(label, n + 1)),
      names: new Map(labels.map((label) => [label.required('id'), nameOf(label)])),
    },
    fields: fieldsOf(index['customFields.*']),
    member: (id) => (id === undefined ? undefined : (people.get(id) ?? { name: id })),
  }
}

export function personOf(member: Entry | undefined): ImportedPerson | undefined {
  const name = member?.text('fullName') ?? member?.text('username')
  return name === undefined ? undefined : { name }
}

/** Trello shows a label without a name as its color. */
export const nameOf = (label: Entry): string => label.text('name') ?? label.text('color') ?? 'label'

const labelOf = (label: Entry, row: number): LabelItem =>
  itemOf({ kind: 'label', row, name: nameOf(label), color: colorOf(label.text('color'), trelloColors) })

const types: Record<string, FieldItem['type']> = {
  text: 'text',
  number: 'number',
  checkbox: 'boolean',
  date: 'date',
  list: 'choice',
}

function fieldsOf(entries: Entry[]): Map<string, CustomField> {
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
