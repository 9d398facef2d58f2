import { KeyMap } from '../../convert/keys.ts'
import {
  type CommentItem,
  ImportError,
  type ImportedPerson,
  type SubtaskItem,
  type TaskItem,
} from '../../items.ts'
import type { Reader } from '../file.ts'
import { type Entry, isObject, type Json, readEntries, textOf } from '../json-file.ts'
import { Board, type FieldValue, idOf, nameOf, type Table } from './board.ts'
import products from './products.json' with { type: 'json' }

type Kind = Table | 'description' | 'card' | 'item' | 'comment' | undefined

/** Return the kind of an object whose path does not decide it. */
const kinds: Record<string, (row: Entry) => Kind> = {
  /** The response with the cards of a list has the cards in `items`. */
  cardOrComment: (row) => (row.text('listId') === undefined ? 'comment' : 'card'),
  boardOrStack(row) {
    if (row.isSet('cards')) return 'lists'
    return row.isSet('stacks') ? 'lanes' : undefined
  },
  issueOrComment(row) {
    if (row.get('issue_url') !== undefined) return 'comment'
    if (row.get('number') !== undefined && row.get('title') !== undefined) return 'card'
    const message = 'The file is not a list of issues of GitHub: an issue has a number and a title'
    throw new ImportError(message, `row ${row.row}`)
  },
}

/** How a product writes boards as JSON. */
interface BoardSource {
  /** The message about a file without lists and cards. */
  missing: string
  /** `rrggbb` by the names of colors. */
  colors?: Record<string, string>
  /** The key of the position of a list, a card, a checklist or an item. */
  position?: string
  /** The kind of each object in the file by the pattern of its path: a `Kind`, or a key of `kinds`. */
  parts: Record<string, string>
  /** Returns the values of a card that differ from the usual ones; undefined for a row that is not a card. */
  card?(row: Entry, board: Board, inside?: string): OwnValues | undefined
  /** The key of the cards that are parts of a card. */
  cardsInside?: string
}

const maxSortedCharacters = 16_000_000
/** The usual size of an item without its description. */
const itemCharacters = 500

/** The actions of Trello that create a card. */
const creations = ['createCard', 'copyCard', 'convertToCardFromCheckItem', 'emailCard']

/** Returns the reader of a product's files. It reads a file twice: the lists that cards refer to, then the cards. */
export const boardReader = (source: BoardSource): Reader =>
  async function* ({ open, report }) {
    const reading = new BoardReading(source)
    const { board } = reading
    for (const pass of ['add', 'read'] as const)
      for await (const row of readEntries(open, Object.keys(source.parts))) {
        const kind = source.parts[row.part]!
        reading[pass](row, kinds[kind] ? kinds[kind](row) : (kind as Kind))
        yield* board.ready.splice(0)
      }
    reading.takeSorted()
    const { missingComments, hasCards } = reading
    if (missingComments > 0)
      report(`Comments that cards count, but that are not in the file: ${missingComments}`)
    if (!board.has('lists') && !hasCards) throw new ImportError(source.missing)
    yield* board.ready.splice(0)
  }

class BoardReading {
  readonly board: Board
  hasCards = false
  /** The number of comments that the cards state, without those in the file. */
  missingComments = 0
  /** Cards that are parts of other cards may be in the file twice. */
  private readonly parts = new KeyMap<true>()
  private unsorted: { item: TaskItem | SubtaskItem; place: number[] }[] = []
  private characters = 0

  constructor(private readonly source: BoardSource) {
    this.board = new Board(source.colors)
  }

  /** Reads a row that cards refer to. */
  add(row: Entry, kind: Kind): void {
    const { board } = this
    if (kind === 'description') board.ready.push({ kind: 'project', row: 0, description: row.text(row.part) })
    else if (kind === 'comment') {
      const card = creations.includes(String(row.value.type)) ? row.text('data.card.id') : undefined
      if (card !== undefined) board.add('creations', row.inside({ ...row.value, id: card }))
    } else if (kind && kind !== 'card' && kind !== 'item') board.add(kind, row)
  }

  read(row: Entry, kind: Kind): void {
    if (kind === 'card') this.readCard(row)
    if (kind === 'item') this.readItem(row)
    if (kind === 'comment') this.readComment(row)
  }

  private taskOf(row: Entry, inside?: string): TaskItem | undefined {
    const { source, board } = this
    const own = source.card ? source.card(row, board, inside) : {}
    return own && taskOf(row, board, own, inside)
  }

  private readCard(row: Entry, inside?: string): void {
    const { source, board, parts } = this
    const task = this.taskOf(row, inside)
    if (!task) return
    this.hasCards = true
    const { key, parent } = task
    if (parent !== undefined && parts.get(key)) return
    if (parent !== undefined) parts.setIfSpace(key, true)
    const list = board.find('lists', listOf(row))
    const lane = board.find('lanes', list?.text('boardId'))
    // Cards come before the items of checklists.
    this.sort(task, [0, lane?.row, this.positionOf(list), list?.row, this.positionOf(row)])
    const count = row.get('badges.comments|commentsTotal|commentsCount|comments')
    if (typeof count === 'number') this.missingComments += count
    for (const comment of commentsIn(row)) this.readComment(comment, key)
    for (const part of source.cardsInside ? row.entries(source.cardsInside) : []) this.readCard(part, key)
  }

  /**
   * Adds an item with a due date, a person or notes as a sub-item. The import turns it into a subtask, and adds these
   * values to the description of the card. If a card has several checklists, their names begin the titles.
   */
  private readItem(row: Entry): void {
    const { board } = this
    const id = row.text('taskListId|checklistId') ?? row.path.split('.').slice(0, 2).join('.')
    const checklist = board.find('checklists', id)
    const card = (checklist ?? row).text('cardId|idCard')
    const task = card === undefined ? undefined : this.taskOf(row, card)
    if (card === undefined || !task) return
    const name = board.of('checklists', card).length > 1 ? nameOf(checklist) : undefined
    if (name) task.title = `${name}: ${task.title}`
    if (row.text('state') === 'complete') task.status = 'DONE'
    const { key, title, createdAt, status = 'TODO' } = task
    const parts = { row: row.row, key, title, createdAt }
    const item: TaskItem | SubtaskItem =
      task.dueDate || task.assignee || task.notes?.length
        ? { ...task, status }
        : { kind: 'subtask', ...parts, task: card, completed: status === 'DONE' }
    this.sort(item, [1, this.positionOf(checklist), checklist?.row, this.positionOf(row)])
  }

  private readComment(row: Entry, inside?: string): void {
    const comment = commentOf(row, this.board, inside)
    if (!comment) return
    this.missingComments--
    this.board.ready.push(comment)
  }

  private positionOf(row: Entry | undefined): number | undefined {
    return row?.number(this.source.position ?? '')
  }

  /** @param place the most significant number first. A missing number is the last one. */
  private sort(item: TaskItem | SubtaskItem, place: (number | undefined)[]): void {
    this.unsorted.push({ item, place: place.map((position) => position ?? Infinity) })
    this.characters += itemCharacters + ('description' in item ? (item.description?.length ?? 0) : 0)
    if (!this.source.position || this.characters > maxSortedCharacters) this.takeSorted()
  }

  /** Makes the items so far ready, in the order of their positions. A large file is sorted in groups. */
  takeSorted(): void {
    this.characters = 0
    const sorted = this.unsorted.splice(0).sort((one, other) => {
      const at = one.place.findIndex((position, n) => position !== other.place[n])
      return at < 0 ? 0 : one.place[at]! - other.place[at]!
    })
    for (const { item } of sorted) this.board.ready.push(item)
  }
}

/** The lines of each name, such as `Start: 2027-01-31`. A true value is the name alone. */
type Notes = Record<string, Json | undefined | (Json | undefined)[]>

/** The values of a task that differ from the usual ones. Labels and notes are added. */
interface OwnValues extends Pick<Partial<TaskItem>, 'key' | 'list' | 'status' | 'parent' | 'blockedBy'> {
  labels?: (string | undefined)[]
  values?: FieldValue[]
  notes?: Notes
}

/** The keys of values in all products. `notes` become lines at the foot of the description, by the names of the lines. */
const { keys } = products

const isArchived = (row: Entry | undefined): boolean =>
  Boolean(row?.isSet('closed') || row?.isSet('archived'))

const listOf = (row: Entry): string | undefined => row.text('idList|listId|stackId')

/**
 * Returns the task of a card, or of an item of a checklist, by their usual keys.
 * @param inside the key of the card that contains it
 */
function taskOf(row: Entry, board: Board, own: OwnValues, inside?: string): TaskItem {
  const { labels: ownLabels = [], values: ownValues, notes: ownNotes, ...others } = own
  const id = row.text('_id|gid|id') ?? ''
  const list = board.find('lists', listOf(row))
  const type = list?.get('type')
  const isDone = type === 'closed' || list?.isSet('isDoneColumn') || keys.done.some((key) => row.isSet(key))
  const members = board.of('cardMemberships', id).flatMap((one) => board.people(one, ['userId']))
  const [assignee, ...helpers] = [...board.people(row, keys.people), ...members]
  const stored = [...keys.values.flatMap((path) => row.entries(path)), ...board.of('customFieldValues', id)]
  const { fields, lines } = board.fieldValues(ownValues ?? stored.map(valueOf))
  const names = [
    ...board.labelNames(row, [
      ...keys.labels.flatMap((path) => row.list(path)),
      ...board.of('cardLabels', id).map((one) => one.required('labelId')),
    ]),
    board.laneOf(row.text('swimlaneId') ?? list?.text('boardId')),
    ...ownLabels,
  ]
  // Old versions of WeKan store only the ids of linked cards.
  const links = row.list('cardDependencies').map((one) => row.inside(isObject(one) ? one : { cardId: one }))
  const [blockers = [], otherLinks = []] = [true, false].map((isBlocker) =>
    links.filter((link) => (link.text('type') === 'is-blocked-by') === isBlocker),
  )
  const notes = {
    Archived: isArchived(row) || type === 'archive',
    'In an archived list': !isArchived(row) && isArchived(list),
    'In the trash': type === 'trash',
    Template: row.isSet('isTemplate') || row.get('type') === 'template-card',
    ...notesIn(row, board),
    'Linked card':
      row.get('linkedCardId') ??
      otherLinks.map((link) => `${link.required('cardId')} (${link.text('type') ?? 'related-to'})`),
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
    remindAt: remindAt(row),
    blockedBy: blockers.map((link) => link.required('cardId')),
    createdAt: createdAtOf(row),
    author: board.people(board.find('creations', id) ?? row, keys.authors)[0],
    labels: [...new Set(names)].filter((label) => label !== undefined),
    notes: [...linesOf(notes), ...lines],
    ...others,
    ...{ key: own.key ?? idOf(row), parent: own.parent ?? row.text('parentId') ?? inside },
  }
}

/** Trello stores a reminder as minutes before the due time. -1: no reminder. */
function remindAt(card: Entry): string | undefined {
  const minutes = card.number('dueReminder') ?? -1
  if (minutes < 0 || card.isSet('dueComplete') || card.isSet('closed')) return undefined
  return isoTime(Date.parse(card.text('due') ?? '') - minutes * 60_000)
}

/** Returns the comments inside a card. Some products have a number instead. */
const commentsIn = (row: Entry): Entry[] =>
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

const isoTime = (milliseconds: number): string | undefined =>
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
function commentOf(row: Entry, board: Board, inside?: string): CommentItem | undefined {
  const task = row.text('data.card.id|cardId') ?? linkedIssue(row, 'issue_url') ?? inside
  if (task === undefined || !isComment(row)) return undefined
  return {
    ...{ kind: 'comment', row: row.row, key: idOf(row), task },
    text: row.text('data.text|text|message|body') ?? '',
    createdAt: createdAtOf(row),
    author: board.people(row, keys.authors)[0],
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
