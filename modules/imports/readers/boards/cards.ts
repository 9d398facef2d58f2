import type { CommentItem, ImportedPerson, TaskItem } from '../../items.ts'
import { type Entry, isObject, type Json, textOf } from '../json-file.ts'
import { type Board, type FieldValue, idOf, nameOf } from './board.ts'
/** The keys of values in all products. `notes` become lines at the foot of the description, by the names of the lines. */
import keys from './keys.json' with { type: 'json' }

/** The lines of each name, such as `Start: 2027-01-31`. A true value is the name alone. */
type Notes = Record<string, Json | undefined | (Json | undefined)[]>

/** The values of a task that differ from the usual ones. Labels and notes are added. */
export interface OwnValues extends Pick<
  Partial<TaskItem>,
  'key' | 'list' | 'status' | 'parent' | 'blockedBy'
> {
  remindAt?: string | undefined
  labels?: (string | undefined)[]
  values?: FieldValue[]
  notes?: Notes
}

const [authors, people, labels, values, done] = [
  keys.authors,
  keys.people,
  keys.labels,
  keys.values,
  keys.done,
].map((all) => all.split(' ')) as [string[], string[], string[], string[], string[]]

const isArchived = (row: Entry | undefined): boolean =>
  Boolean(row?.isSet('closed') || row?.isSet('archived'))

export const listOf = (row: Entry): string | undefined => row.text('idList|listId|stackId')

/**
 * Returns the task of a card, or of an item of a checklist, by their usual keys.
 * @param inside the key of the card that contains it
 */
export function taskOf(row: Entry, board: Board, own: OwnValues, inside?: string): TaskItem {
  const { labels: ownLabels = [], values: ownValues, notes: ownNotes, ...others } = own
  const id = row.text('_id|gid|id') ?? ''
  const list = board.find('lists', listOf(row))
  const type = list?.get('type')
  const isDone = type === 'closed' || list?.isSet('isDoneColumn') || done.some((key) => row.isSet(key))
  const creator = board.creators.get(id)
  const members = board.of('cardMemberships', id).flatMap((one) => board.people(one, ['userId']))
  const [assignee, ...helpers] = [...board.people(row, people), ...members]
  const stored = [...values.flatMap((path) => row.entries(path)), ...board.of('customFieldValues', id)]
  const { fields, lines } = board.fieldValues(ownValues ?? stored.map(valueOf))
  const names = [
    ...labels.flatMap((path) => board.labelNames(row, path)),
    ...board.of('cardLabels', id).flatMap((one) => board.labelOf(one.required('labelId'))),
    board.laneOf(row.text('swimlaneId') ?? list?.text('boardId')),
    ...ownLabels,
  ]
  const notes = {
    Archived: isArchived(row) || type === 'archive',
    'In an archived list': !isArchived(row) && isArchived(list),
    'In the trash': type === 'trash',
    ...notesIn(row, board),
    ...ownNotes,
    Attachment: [...row.entries('attachments'), ...board.of('attachments', id)].map(attachmentOf),
    'Also assigned': namesOf(helpers),
  }
  return {
    ...{ kind: 'task', row: row.row, assignee, fields },
    title: nameOf(row) ?? '',
    description: row.text('desc|description|notes|body'),
    // An archived card of Planka names its previous list.
    list: nameOf(list) ?? nameOf(board.find('lists', row.text('prevListId'))),
    status: isDone ? 'DONE' : undefined,
    dueDate: row.text(keys.due),
    createdAt: createdAtOf(row),
    author: creator === undefined ? board.people(row, authors)[0] : board.personWith(creator),
    labels: [...new Set(names)].filter((label) => label !== undefined),
    notes: [...linesOf(notes), ...lines],
    ...others,
    ...{ key: own.key ?? idOf(row), parent: own.parent ?? row.text('parentId') ?? inside },
  }
}

/** Returns the comments inside a card. Some products have a number instead. */
export const commentsIn = (row: Entry): Entry[] =>
  ['comments', 'stories'].flatMap((path) => row.entries(path)).filter(isComment)

/** A text or a list may contain the ids of people. */
const notesIn = (row: Entry, board: Board): Notes =>
  Object.fromEntries(
    Object.entries(keys.notes).map(([name, paths]) => {
      const value = row.get(paths)
      const isPeople = typeof value === 'string' || Array.isArray(value)
      return [name, isPeople ? namesOf(board.people(row, [paths])) : value]
    }),
  )

const linesOf = (all: Notes): string[] =>
  Object.entries(all).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => {
      if (!value) return []
      return value === true ? name : `${name}: ${textOf(value)}`
    }),
  )

const namesOf = (all: ImportedPerson[]): string => all.map(({ name }) => name).join(', ')

function attachmentOf(row: Entry): string | undefined {
  const isInData = isObject(row.value.data)
  const name = row.text(isInData ? 'name' : 'name|data')
  const url = row.text(isInData ? 'url|data.url' : 'url|extendedData.path')
  return name && url && name !== url ? `${name} (${url})` : (name ?? url)
}

export const isoTime = (milliseconds: number): string | undefined =>
  Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : undefined

/**
 * Returns the time in the row, or else the time in its id: ids of Trello begin with the seconds since 1970, in 8
 * hexadecimal digits.
 */
function createdAtOf(row: Entry): string | undefined {
  const time = row.get(keys.times)
  if (typeof time === 'number') return time === 0 ? undefined : isoTime(time * 1000)
  const [, seconds] = /^([0-9a-f]{8})[0-9a-f]{16}$/i.exec(row.text('id') ?? '') ?? []
  return row.text(keys.times) ?? (seconds && isoTime(Number.parseInt(seconds, 16) * 1000))
}

function valueOf(row: Entry): FieldValue {
  const value = row.get('idValue|content|value')
  const id = row.text('idCustomField|customFieldId') ?? idOf(row)
  if (Array.isArray(value)) return [id, value.join(', ')]
  if (!isObject(value)) return [id, value]
  const { number, checked, text, date } = value
  if (number != null) return [id, Number.isFinite(Number(number)) ? Number(number) : number]
  return [id, checked == null ? (text ?? date) : checked === true || checked === 'true']
}

const commentTypes = ['comment', 'commentCard', 'copyCommentCard']
const isComment = (row: Entry): boolean => commentTypes.includes(String(row.get('type') ?? 'comment'))

/** Returns a comment on a card, or an action that is a comment; undefined for another row. @param inside the card */
export function commentOf(row: Entry, board: Board, inside?: string): CommentItem | undefined {
  const task = row.text('data.card.id|cardId') ?? linkedIssue(row, 'issue_url') ?? inside
  if (task === undefined || !isComment(row)) return undefined
  return {
    ...{ kind: 'comment', row: row.row, key: idOf(row), task },
    text: row.text('data.text|text|message|body') ?? '',
    createdAt: createdAtOf(row),
    author: board.people(row, authors)[0],
  }
}

/** Bounds the time of a regular expression, which grows with the square of the length. */
const maxAddressCharacters = 500

/** Returns `owner/repository#number` for the address of an issue of GitHub. */
export function issueKey(row: Entry, paths: string): string {
  const address = (row.text(paths) ?? '').slice(0, maxAddressCharacters)
  const match = /([^/]+\/[^/]+)\/(?:issues|pull|pulls)\/(\d+)/.exec(address)
  return match ? `${match[1]}#${match[2]}` : `#${row.text('number') ?? ''}`
}

export const linkedIssue = (row: Entry, path: string): string | undefined =>
  row.get(path) === undefined ? undefined : issueKey(row, path)

const creations = ['createCard', 'copyCard', 'convertToCardFromCheckItem', 'emailCard']

/** Returns the card that an action has created, and the name or id of the creator. */
export const creationIn = (row: Entry): (string | undefined)[] =>
  creations.includes(String(row.value.type))
    ? ['data.card.id', 'memberCreator.fullName|memberCreator.username|idMemberCreator'].map((path) =>
        row.text(path),
      )
    : []
