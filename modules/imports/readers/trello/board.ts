import type { ImportedPerson, LabelItem } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import type { CustomField } from '../json/fields.ts'
import { itemOf } from '../json/items.ts'
import type { JsonFile } from '../json/json-file.ts'
import { maxNames } from '../json/limits.ts'
import { colorOf, trelloColors } from '../json/colors.ts'
import { fieldsOf } from './fields.ts'

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
