import { KeyMap, linkCharacters } from '../../convert/keys.ts'
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

type Kind = Table | 'description' | 'card' | 'item' | 'comment' | 'unknown'

/** How a product writes boards as JSON. */
interface BoardSource {
  /** The message about a file without lists and cards. */
  missing: string
  /** `rrggbb` by the names of colors. */
  colors?: Record<string, string>
  /** The key of the position of a list, a card, a checklist or an item. */
  position?: string
  /** The kind of each object in the file by the pattern of its path. Of several kinds, the first whose keys the object has. */
  parts: Record<string, Kind | [keys: string[], kind: Kind][]>
  /** True if cards are identified by their addresses, as issues of GitHub are. */
  hasAddresses?: boolean
  /** The key of the cards that are parts of a card. */
  cardsInside?: string
}

const maxSortedCharacters = 16_000_000
/** The usual size of an item without its description. */
const itemCharacters = 500

/** The actions of Trello that create a card. */
const creations = ['createCard', 'copyCard', 'convertToCardFromCheckItem', 'emailCard']

/** Returns the reader of a product's files. It reads a file twice: the lists that cards refer to, then the cards. */
const boardReader = (source: BoardSource): Reader =>
  async function* ({ open, report }) {
    const reading = new BoardReading(source)
    const { board } = reading
    for (const pass of ['add', 'read'] as const)
      for await (const row of readEntries(open, Object.keys(source.parts))) {
        const kinds = source.parts[row.part]!
        const isFirst = ([keys]: [string[], Kind]) => keys.every((key) => row.get(key) !== undefined)
        const kind = typeof kinds === 'string' ? kinds : kinds.find(isFirst)?.[1]
        if (kind === 'unknown') throw new ImportError(source.missing, `row ${row.row}`)
        if (kind) reading[pass](row, kind)
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
    if (kind === 'description') board.ready.push({ kind: 'project', description: row.text(row.part) })
    else if (kind === 'comment') {
      const card = creations.includes(String(row.value.type)) ? row.text('data.card.id') : undefined
      const memberCreator = row.get('memberCreator|idMemberCreator')
      if (card !== undefined && memberCreator !== undefined)
        board.add('creations', row.inside({ id: card, memberCreator }))
    } else if (kind !== 'card' && kind !== 'item' && kind !== 'unknown') board.add(kind, row)
  }

  read(row: Entry, kind: Kind): void {
    if (kind === 'card') this.readCard(row)
    if (kind === 'item') this.readItem(row)
    if (kind === 'comment') this.readComment(row)
  }

  private readCard(row: Entry, inside?: string): void {
    const { source, board, parts } = this
    if (inside === undefined && isSection(row)) return
    const task = taskOf(row, board, source.hasAddresses ? issueKey(row, 'html_url|url') : idOf(row), inside)
    this.hasCards = true
    const { key, parent } = task
    if (parent !== undefined && parts.get(key)) return
    if (parent !== undefined) parts.set(key, true, linkCharacters)
    const list = board.find('lists', listOf(row))
    const lane = board.find('lanes', list?.text('boardId'))
    // Cards come before the items of checklists.
    this.sort(task, [0, lane?.row, this.positionOf(list), list?.row, this.positionOf(row)])
    const count = row.get('badges.comments|commentsTotal|commentsCount|comments')
    if (typeof count === 'number') this.missingComments += count
    for (const comment of keys.comments.flatMap((path) => row.entries(path))) this.readComment(comment, key)
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
    if (card === undefined) return
    const task = taskOf(row, board, idOf(row), card)
    const name = board.of('checklists', card).length > 1 ? nameOf(checklist) : undefined
    if (name) task.title = `${name}: ${task.title}`
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

/** The keys of values in all products. `notes` become lines at the foot of the description, by the names of the lines. */
const { keys } = products

/** Issues of GitHub, which have numbers, are closed, not archived. */
const isArchived = (row: Entry | undefined): boolean =>
  Boolean((row?.isSet('closed') && row.get('number') === undefined) || row?.isSet('archived'))

const listOf = (row: Entry): string | undefined => row.text('idList|listId|stackId')

/**
 * Returns the task of a card, or of an item of a checklist, by their usual keys.
 * @param inside the key of the card that contains it
 */
function taskOf(row: Entry, board: Board, key: string, inside?: string): TaskItem {
  const id = row.text('_id|gid|id') ?? ''
  const list = board.find('lists', listOf(row))
  const type = list?.get('type')
  const state = row.text('state')?.toLowerCase()
  const isDone = type === 'closed' || list?.isSet('isDoneColumn') || keys.done.some((one) => row.isSet(one))
  const status = isDone || state === 'closed' || state === 'complete' ? 'DONE' : state && 'TODO'
  const members = board.of('cardMemberships', id).flatMap((one) => board.people(one, ['userId']))
  const [assignee, ...helpers] = [...board.people(row, keys.people), ...members]
  const stored = [...keys.values.flatMap((path) => row.entries(path)), ...board.of('customFieldValues', id)]
  const milestone = row.text('milestone.title')
  if (milestone !== undefined) board.defineField('milestone', 'milestone')
  const values = stored.map((one) => valueOf(one, board))
  const { fields, lines } = board.fieldValues([...values, ['milestone', milestone]])
  const names = [
    ...board.labelNames(row, [
      ...keys.labels.flatMap((path) => row.list(path)),
      ...board.of('cardLabels', id).map((one) => one.required('labelId')),
    ]),
    board.laneOf(row.text('swimlaneId') ?? list?.text('boardId')),
    row.isSet('pull_request') ? 'pull request' : undefined,
    row.text('resource_subtype') === 'milestone' ? 'milestone' : undefined,
  ]
  return {
    ...{ kind: 'task', row: row.row, assignee, fields },
    title: nameOf(row) ?? '',
    description: row.text('desc|description|notes|body'),
    // An archived card of Planka names its previous list.
    list:
      nameOf(list) ??
      nameOf(board.find('lists', row.text('prevListId'))) ??
      sectionIn(row.entries('memberships')[0]),
    status: status || undefined,
    dueDate: row.text(keys.due),
    remindAt: remindAt(row),
    blockedBy: [
      ...linksOf(row, true).map((link) => link.required('cardId')),
      ...row.entries('dependencies').map((blocker) => blocker.required('gid')),
    ],
    createdAt: createdAtOf(row),
    author: board.people(board.find('creations', id) ?? row, keys.authors)[0],
    labels: [...new Set(names)].filter((label) => label !== undefined),
    notes: [...linesOf({ ...notesOf(row, board), 'Also assigned': namesOf(helpers) }), ...lines],
    ...{ key, parent: row.text('parentId|parent.gid') ?? inside },
  }
}

/** Trello stores a reminder as minutes before the due time. -1: no reminder. */
function remindAt(card: Entry): string | undefined {
  const minutes = card.number('dueReminder') ?? -1
  if (minutes < 0 || card.isSet('dueComplete') || card.isSet('closed')) return undefined
  return isoTime(Date.parse(card.text('due') ?? '') - minutes * 60_000)
}

/** Returns the cards that block a card of WeKan, or its other links. Old versions store only the ids of linked cards. */
const linksOf = (row: Entry, areBlockers: boolean): Entry[] =>
  row
    .list('cardDependencies')
    .map((one) => row.inside(isObject(one) ? one : { cardId: one }))
    .filter((link) => (link.text('type') === 'is-blocked-by') === areBlockers)

function notesOf(row: Entry, board: Board): Notes {
  const list = board.find('lists', listOf(row))
  const type = list?.get('type')
  const reason = row.text('state_reason|stateReason') ?? ''
  const links = linksOf(row, false)
  return {
    Archived: isArchived(row) || type === 'archive',
    'In an archived list': !isArchived(row) && isArchived(list),
    'In the trash': type === 'trash',
    Template: row.isSet('isTemplate') || row.get('type') === 'template-card',
    ...peopleNotes(row, board),
    'Linked card':
      row.get('linkedCardId') ??
      links.map((link) => `${link.required('cardId')} (${link.text('type') ?? 'related-to'})`),
    Reason: /^(completed|reopened)$/i.test(reason) ? undefined : reason,
    'Milestone due': row.get('milestone.due_on|milestone.dueOn'),
    Type: row.get('type.name'),
    'Part of': linkedIssue(row, 'parent_issue_url'),
    'Also in': row
      .entries('memberships')
      .slice(1)
      .map((one) => [one.text('project.name'), one.text('section.name')].filter(Boolean).join(', ')),
    Attachment: [...row.entries('attachments'), ...board.of('attachments', row.text('_id|gid|id') ?? '')].map(
      attachmentOf,
    ),
  }
}

/** A text or a list may contain the ids of people. */
const peopleNotes = (row: Entry, board: Board): Notes =>
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

/** Adds the field of a value of Asana: each task repeats the definitions of its fields, which have their names as ids. */
function valueOf(row: Entry, board: Board): FieldValue {
  const value = row.get(keys.fieldValues)
  const [ownId, name] = [row.text('idCustomField|customFieldId|_id'), row.text('name')]
  const id = ownId ?? name ?? idOf(row)
  if (value !== undefined && id === name) {
    const options = row.entries('enum_options').map((one) => one.text('name') ?? '')
    const pairs = options.map((one): [string, string] => [one, one])
    board.defineField(id, id, row.text('resource_subtype|type'), pairs)
  }
  if (Array.isArray(value)) return [id, value.join(', ')]
  if (!isObject(value)) return [id, value]
  const { number, checked, text, date } = value
  if (number != null) return [id, Number.isFinite(Number(number)) ? Number(number) : number]
  return [id, checked == null ? (text ?? date) : checked === true || checked === 'true']
}

/** Tasks name their section, which is in the list too. Old projects have sections among subtasks, which are subtasks. */
const isSection = (row: Entry): boolean =>
  row.text('resource_subtype') === 'section' || (row.text('resource_type') ?? 'task') !== 'task'

/** Matches the section of the tasks of Asana that have none. */
export const noSection = /^(\(no section\)|untitled section|)$/i
const sectionIn = (membership: Entry | undefined): string | undefined => {
  const name = membership?.text('section.name') ?? ''
  return noSection.test(name) ? undefined : name
}

const commentTypes = ['comment', 'commentCard', 'copyCommentCard']

/** Returns a comment on a card, or an action that is a comment; undefined for another row. @param inside the card */
function commentOf(row: Entry, board: Board, inside?: string): CommentItem | undefined {
  const task = row.text('data.card.id|cardId') ?? linkedIssue(row, 'issue_url') ?? inside
  if (task === undefined || !commentTypes.includes(row.text('type') ?? 'comment')) return undefined
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
function issueKey(row: Entry, paths: string): string {
  const address = (row.text(paths) ?? '').slice(0, maxAddressCharacters)
  const match = /([^/]+\/[^/]+)\/(?:issues|pull|pulls)\/(\d+)/.exec(address)
  return match ? `${match[1]}#${match[2]}` : `#${row.text('number') ?? ''}`
}

const linkedIssue = (row: Entry, path: string): string | undefined =>
  row.get(path) === undefined ? undefined : issueKey(row, path)

const { keys: _, ...tables } = products
const sources = tables as unknown as Record<keyof typeof tables, BoardSource>

/** Reads the JSON export of a Trello board. Trello writes only the newest 1,000 actions, of which some are comments. */
export const readTrello = boardReader(sources.trello)
export const readWekan = boardReader(sources.wekan)
/** Reads responses of Planka's API one after the other: boards, cards of a list, comments and actions of a card. */
export const readPlanka = boardReader(sources.planka)
/** Reads the output of `occ deck:export`, the export of a board, or a response of the API of Nextcloud Deck. */
export const readDeck = boardReader(sources.deck)
/**
 * Reads issues and comments of GitHub: lists of the REST API one after the other, a JSON object for each line, or the
 * output of `gh issue list --json`.
 */
export const readGitHub = boardReader(sources.github)
/** Reads the JSON export of an Asana project, or lists of tasks of the API, one after the other. */
export const readAsanaJson = boardReader(sources.asana)
