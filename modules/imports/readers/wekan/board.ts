import type { ImportedPerson } from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import type { CustomField } from '../json/fields.ts'
import { groupBy } from '../json/items.ts'
import type { JsonFile } from '../json/json-file.ts'
import { maxLinks, maxNames } from '../json/limits.ts'
import { wekanColors } from '../json/colors.ts'
import { type BoardLabels, boardLabels } from '../json/labels.ts'
import { fieldsOf } from './fields.ts'
import { idOf } from './ids.ts'

export interface Board {
  lists: ReadonlyMap<string, Entry>
  /** The titles by their ids. Empty if the board has only one. */
  swimlanes: ReadonlyMap<string, string>
  labels: BoardLabels
  fields: ReadonlyMap<string, CustomField>
  /** By the ids of their cards. */
  attachments: ReadonlyMap<string, Entry[]>
  checklistsOfCards: ReadonlyMap<string, Entry[]>
  checklists: ReadonlyMap<string, Entry>
  user(id: string | undefined): ImportedPerson | undefined
}

const parts = {
  'lists.*': maxNames,
  'swimlanes.*': maxNames,
  'labels.*': maxNames,
  'customFields.*': maxNames,
  'users.*': maxNames,
  'checklists.*': maxLinks,
  'attachments.*': maxLinks,
}
const omit = ['file', 'avatarFile', 'avatarUrl', 'permission', 'boardIds']

/** Reads the rows that cards refer to, without the bytes of attachments. */
export async function boardOf(file: JsonFile): Promise<Board> {
  const index = await file.index(parts, { omit })
  const byId = (part: keyof typeof parts) => new Map(index[part].map((entry) => [idOf(entry), entry]))
  const swimlanes = index['swimlanes.*'].length > 1 ? index['swimlanes.*'] : []
  const users = new Map(index['users.*'].map((user) => [idOf(user), personOf(user)]))
  return {
    lists: byId('lists.*'),
    swimlanes: new Map(swimlanes.map((one) => [idOf(one), one.text('title') ?? ''])),
    labels: boardLabels(index['labels.*'], wekanColors, idOf),
    fields: fieldsOf(index['customFields.*']),
    attachments: groupBy(index['attachments.*'], 'cardId'),
    checklistsOfCards: groupBy(index['checklists.*'], 'cardId'),
    checklists: byId('checklists.*'),
    user: (id) => (id ? (users.get(id) ?? { name: id }) : undefined),
  }
}

const personOf = (user: Entry): ImportedPerson => ({
  name: user.entry('profile')?.text('fullname') ?? user.text('username') ?? idOf(user),
})
