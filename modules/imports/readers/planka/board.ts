import type { FieldItem, ImportedPerson, LabelItem } from '../../items.ts'
import { CommentCounts } from '../json/comment-counts.ts'
import type { Entry } from '../json/entry.ts'
import { groupBy, itemOf } from '../json/items.ts'
import type { JsonFile } from '../json/json-file.ts'
import { maxLinks, maxNames } from '../json/limits.ts'
import { colorOf, plankaColors } from '../json/colors.ts'
import { fieldsOf } from './fields.ts'

export interface Board {
  lists: ReadonlyMap<string, Entry>
  labels: { items: LabelItem[]; names: ReadonlyMap<string, string> }
  fields: ReadonlyMap<string, FieldItem>
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

/** Reads what cards refer to. */
export async function boardOf(file: JsonFile): Promise<Board> {
  const index = await file.index(parts, {
    documents: 'many',
    omit: ['thumbnailUrls', 'image', 'text', 'description'],
  })
  const of = (part: keyof typeof parts) => index[part]
  const users = new Map(of('included.users.*').map((user) => [user.required('id'), personOf(user)]))
  const labels = unique(of('included.labels.*'))
  const comments = new CommentCounts()
  for (const item of of('items.*')) if (isComment(item)) comments.add(item.required('cardId'))
  return {
    lists: new Map(of('included.lists.*').map((list) => [list.required('id'), list])),
    labels: {
      items: labels.map((label, n) => labelOf(label, n + 1)),
      names: new Map(labels.map((label) => [label.required('id'), nameOf(label)])),
    },
    fields: fieldsOf(unique(of('included.customFields.*'))),
    taskLists: new Map(of('included.taskLists.*').map((list) => [list.required('id'), list])),
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

/** Several answers of the API may have the same entry. */
const unique = (entries: Entry[]): Entry[] => [
  ...new Map(entries.map((entry) => [entry.required('id'), entry])).values(),
]

function personOf(user: Entry): ImportedPerson {
  const [name, email] = [
    user.text('name') ?? user.text('username') ?? user.required('id'),
    user.text('email'),
  ]
  return email ? { name, email } : { name }
}

const nameOf = (label: Entry): string => label.text('name') ?? label.text('color') ?? 'label'

const labelOf = (label: Entry, row: number): LabelItem =>
  itemOf({ kind: 'label', row, name: nameOf(label), color: colorOf(label.text('color'), plankaColors) })
