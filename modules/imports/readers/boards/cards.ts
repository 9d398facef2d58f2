import type { CommentItem, ImportedPerson, TaskItem } from '../../items.ts'
import { type Entry, isObject, type Json } from '../json-file.ts'
import type { KeyMap } from '../key-map.ts'
import { type Board, type FieldValue, idOf, nameOf } from './board.ts'

/** The lines of each name, such as `Start: 2027-01-31`. A true value is the name alone. */
type Notes = Record<string, Json | undefined | (Json | undefined)[]>

/** A card as the parts of a task. */
export interface Card extends Partial<Omit<TaskItem, 'labels' | 'notes'>> {
  listId?: string
  /** The first person is the assignee. */
  people?: ImportedPerson[]
  labels?: (string | undefined)[]
  values?: FieldValue[]
  notes?: Notes
  attachments?: (string | undefined)[]
  comments?: Entry[]
  /** The number of comments in the source. */
  total?: number
  /** Sub-items, which are read as cards. */
  parts?: Entry[]
}

/** The keys of a value in all products. */
const authors = [
  ...['memberCreator', 'idMemberCreator', 'creatorUserId', 'userId', 'owner', 'user', 'author', 'created_by'],
  ...['actorDisplayName', 'actorId'],
]
const times = 'createdAt|created_at|creationDateTime|date'
const people = 'assignees members assignee assignedUsers assigneeUserId idMembers idMember'.split(' ')
const labels = ['idLabels', 'labelIds', 'labels', 'tags']
const values = ['customFieldItems', 'customFields']
const done =
  'dueComplete|isClosed|isDueCompleted|isDueDateCompleted|done|completed|isCompleted|isFinished'.split('|')
/** The values that become lines at the foot of the description, by the names of the lines. */
const notes = Object.entries({
  Received: 'receivedAt',
  Start: 'start|startAt|startdate|start_at|start_on',
  End: 'endAt',
  Completed: 'dateCompleted|done|completed_at',
  Closed: 'closed_at|closedAt',
  'Spent time in hours': 'spentTime',
  Overtime: 'isOvertime',
  'Stopwatch in seconds': 'stopwatch.total',
  'Requested by': 'requestedBy|requesters',
  'Assigned by': 'assignedBy|assigners',
  Vote: 'vote.question',
  'Votes for': 'vote.positive',
  'Votes against': 'vote.negative',
  'Estimate of the planning poker': 'poker.estimation',
  Approval: 'approval_status',
  'Actual time in minutes': 'actual_time_minutes',
  Location: 'locationName',
  Address: 'address|locationAddress',
  Coordinates: 'coordinates',
  Votes: 'idMembersVoted',
  'Linked card': 'linkedCardId',
})
const peopleInNotes = ['Requested by', 'Assigned by', 'Votes for', 'Votes against', 'Votes']

const isArchived = (row: Entry | undefined): boolean =>
  Boolean(row?.isSet('closed') || row?.isSet('archived'))

/**
 * Returns the parts of a card, or of an item of a checklist, by their usual keys.
 * @param creators the names or ids of creators, by the ids of cards
 */
export function cardOf(row: Entry, board: Board, creators: KeyMap<string>): Card {
  const id = row.text('_id|gid|id') ?? ''
  const listId = row.text('idList|listId|stackId')
  const list = board.find('lists', listId)
  const type = list?.get('type')
  const isDone = type === 'closed' || list?.isSet('isDoneColumn') || done.some((key) => row.isSet(key))
  const comments = typeof row.get('comments') === 'object' ? row.entries('comments') : []
  const creator = creators.get(id)
  return {
    listId,
    description: row.text('desc|description|notes|body'),
    list: nameOf(list),
    status: isDone ? 'DONE' : undefined,
    dueDate: row.text('due|dueAt|dueDate|duedate|due_at|due_on'),
    createdAt: createdAtOf(row),
    author: creator === undefined ? board.people(row, authors)[0] : board.personWith(creator),
    people: [
      ...board.people(row, people),
      ...board.of('cardMemberships', id).flatMap((one) => board.people(one, ['userId'])),
    ],
    labels: [
      ...labels.flatMap((path) => board.labelNames(row, path)),
      ...board.of('cardLabels', id).flatMap((one) => board.labelOf(one.required('labelId'))),
      board.laneOf(row.text('swimlaneId') ?? list?.text('boardId')),
    ],
    parent: row.text('parentId'),
    values: [...values.flatMap((path) => row.entries(path)), ...board.of('customFieldValues', id)].map(
      valueOf,
    ),
    notes: {
      Archived: isArchived(row) || type === 'archive',
      'In an archived list': !isArchived(row) && isArchived(list),
      'In the trash': type === 'trash',
      Deleted: row.isSet('deletedAt'),
      Template: row.isSet('isTemplate') || row.get('type') === 'template-card',
      ...notesIn(row, board),
    },
    attachments: [...row.entries('attachments'), ...board.of('attachments', id)].map(attachmentOf),
    comments: [...comments, ...row.entries('stories')].filter(isComment),
    total: row.number('badges.comments|commentsTotal|commentsCount') ?? numberIn(row.get('comments')),
  }
}

const notesIn = (row: Entry, board: Board): Notes =>
  Object.fromEntries(
    notes.map(([name, paths]) => {
      const isPeople = peopleInNotes.includes(name)
      return [name, isPeople ? namesOf(board.people(row, paths.split('|'))) : row.get(paths)]
    }),
  )

export const linesOf = (all: Notes): string[] =>
  Object.entries(all).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => {
      if (!value) return []
      if (value === true) return name
      return `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`
    }),
  )

export const namesOf = (all: ImportedPerson[]): string => all.map(({ name }) => name).join(', ')
const numberIn = (value: Json | undefined) => (typeof value === 'number' ? value : undefined)

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
  const time = row.get(times)
  if (typeof time === 'number') return time === 0 ? undefined : isoTime(time * 1000)
  const [, seconds] = /^([0-9a-f]{8})[0-9a-f]{16}$/i.exec(row.text('id') ?? '') ?? []
  return row.text(times) ?? (seconds && isoTime(Number.parseInt(seconds, 16) * 1000))
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

/** Returns a comment on a card, or an action that is a comment, by the usual keys; no parts for another row. */
export const commentOf = (row: Entry, board: Board): Partial<CommentItem> =>
  isComment(row)
    ? {
        task: row.text('data.card.id|cardId'),
        text: row.text('data.text|text|message|body'),
        createdAt: createdAtOf(row),
        author: board.people(row, authors)[0],
      }
    : {}

const creations = ['createCard', 'copyCard', 'convertToCardFromCheckItem', 'emailCard']

/** Returns the card that an action has created, and the name or id of the creator. */
export function creationIn(row: Entry): { card?: string; creator?: string } {
  if (!creations.includes(String(row.value.type))) return {}
  return {
    card: row.text('data.card.id'),
    creator: row.text('memberCreator.fullName|memberCreator.username|idMemberCreator'),
  }
}
