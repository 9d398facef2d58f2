import type { ImportedPerson } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import type { CustomField } from '../json/fields.ts'
import { byId } from '../json/items.ts'
import type { JsonFile } from '../json/json-file.ts'
import { maxNames } from '../json/limits.ts'
import { trelloColors } from '../json/colors.ts'
import { type BoardLabels, boardLabels } from '../json/labels.ts'
import { fieldsOf } from './fields.ts'

export interface Board {
  description: string | undefined
  lists: ReadonlyMap<string, Entry>
  labels: BoardLabels
  /** By their ids. */
  fields: ReadonlyMap<string, CustomField>
  member(id: string | undefined): ImportedPerson | undefined
}

/** Reads the rows that cards refer to. In the file, they follow the cards. */
export async function boardOf(file: JsonFile): Promise<Board> {
  const parts = {
    desc: maxNames,
    'lists.*': maxNames,
    'labels.*': maxNames,
    'members.*': maxNames,
    'customFields.*': maxNames,
  }
  const index = await file.index(parts, { omit: ['limits', 'display', 'prefs', 'nonPublic'] })
  const people = new Map(index['members.*'].map((member) => [member.required('id'), personOf(member)]))
  return {
    description: index.desc.at(-1)?.text('desc'),
    lists: byId(index['lists.*']),
    labels: boardLabels(index['labels.*'], trelloColors),
    fields: fieldsOf(index['customFields.*']),
    member: (id) => (id === undefined ? undefined : (people.get(id) ?? { name: id })),
  }
}

export function personOf(member: Entry | undefined): ImportedPerson | undefined {
  const name = member?.text('fullName') ?? member?.text('username')
  return name === undefined ? undefined : { name }
}
