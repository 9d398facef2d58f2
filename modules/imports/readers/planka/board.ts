import type { ImportedPerson } from '../../items.ts'
import { CommentCounts } from '../json/comment-counts.ts'
import type { Entry } from '../json/entry.ts'
import { byId, groupBy } from '../json/items.ts'
import type { JsonFile } from '../json/json-file.ts'
import { maxLinks, maxNames } from '../json/limits.ts'
import { plankaColors } from '../json/colors.ts'
import { type CustomField, customFields } from '../json/fields.ts'
import { type BoardLabels, boardLabels } from '../json/labels.ts'

export interface Board {
  lists: ReadonlyMap<string, Entry>
  labels: BoardLabels
  fields: ReadonlyMap<string, CustomField>
  taskLists: ReadonlyMap<string, Entry>
  /** Parts of cards, by the ids of their cards. */
  taskListsOf: ReadonlyMap<string, Entry[]>
  labelsOf: ReadonlyMap<string, Entry[]>
  membersOf: ReadonlyMap<string, Entry[]>
  valuesOf: ReadonlyMap<string, Entry[]>
  attachmentsOf: ReadonlyMap<string, Entry[]>
  comments: CommentCounts
  user(id: string | undefined): ImportedPerson | undefined
}

const parts = {
  'included.lists.*': maxNames,
  'included.labels.*': maxNames,
  'included.users.*': maxNames,
  'included.customFields.*': maxNames,
  'included.taskLists.*': maxLinks,
  'included.cardLabels.*': maxLinks,
  'included.cardMemberships.*': maxLinks,
  'included.customFieldValues.*': maxLinks,
  'included.attachments.*': maxLinks,
  'items.*': maxLinks,
}

/** Reads the rows that cards refer to. */
export async function boardOf(file: JsonFile): Promise<Board> {
  const index = await file.index(parts, {
    documents: 'many',
    omit: ['thumbnailUrls', 'image', 'text', 'description'],
  })
  const of = (part: keyof typeof parts) => index[part]
  const users = new Map(of('included.users.*').map((user) => [user.required('id'), personOf(user)]))
  const comments = new CommentCounts()
  for (const item of of('items.*')) if (isComment(item)) comments.add(item.required('cardId'))
  return {
    lists: byId(of('included.lists.*')),
    labels: boardLabels(unique(of('included.labels.*')), plankaColors),
    fields: customFields(unique(of('included.customFields.*')), (field) => ({ id: field.required('id') })),
    taskLists: byId(of('included.taskLists.*')),
    taskListsOf: groupBy(unique(of('included.taskLists.*')), 'cardId'),
    labelsOf: groupBy(of('included.cardLabels.*'), 'cardId'),
    membersOf: groupBy(of('included.cardMemberships.*'), 'cardId'),
    valuesOf: groupBy(of('included.customFieldValues.*'), 'cardId'),
    attachmentsOf: groupBy(of('included.attachments.*'), 'cardId'),
    comments,
    user: (id) => (id === undefined ? undefined : (users.get(id) ?? { name: id })),
  }
}

/** True for comments of version 2, and for actions of version 1 that are comments. */
export const isComment = (item: Entry): boolean =>
  item.has('cardId') && !item.has('listId') && (item.text('type') ?? 'commentCard') === 'commentCard'

/** Several responses of the API may have the same entry. */
const unique = (entries: Entry[]): Entry[] => [...byId(entries).values()]

function personOf(user: Entry): ImportedPerson {
  const [name, email] = [
    user.text('name') ?? user.text('username') ?? user.required('id'),
    user.text('email'),
  ]
  return email ? { name, email } : { name }
}
