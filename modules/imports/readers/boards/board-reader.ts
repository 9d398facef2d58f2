import { parseInstant } from '../../../../src/schema/text.ts'
import {
  type CommentItem,
  ImportError,
  type ImportedItem,
  type ImportedPerson,
  type SubtaskItem,
  type TaskItem,
} from '../../items.ts'
import type { Open } from '../csv/text.ts'
import type { Entry, Json } from '../json/entry.ts'
import { maxLinks, readEntries } from '../json/json-file.ts'
import { KeyMap } from '../key-map.ts'
import type { Reader } from '../reader.ts'
import { Board, type FieldParts, type FieldValue, idOf, type ListName, nameOf } from './board.ts'
import type { Colors } from './colors.ts'

/** A value of a row: its path, or a function. */
type Column<Value> = string | ((row: Entry, board: Board) => Value | undefined)
type NoteValue = Json | undefined
/** The lines of each name, such as `Start: 2027-01-31`. A true value gives the name alone. */
type Notes = Record<string, Column<NoteValue | NoteValue[]>>

/** Cards, or items of checklists. */
interface Columns {
  /** The patterns of the rows. */
  at: string[]
  /** False for a row of another kind. */
  is?(row: Entry): boolean
  key?: Column<string>
  description?: string
  /** The id of the list. */
  list?: Column<string>
  /** Default: the name of the list. */
  listName?: Column<string>
  /** A set value means DONE. */
  status: Column<TaskItem['status']>
  dueDate?: string
  remindAt?: Column<string>
  createdAt: Column<string>
  author?: Column<ImportedPerson>
  /** The first person is the assignee. */
  people?: Column<ImportedPerson[]>
  labels?: Column<string[]>
  /** A label besides `labels`. */
  label?: Column<string>
  values?: Column<FieldValue[]>
  parent?: Column<string>
  blockedBy?: Column<string[]>
  notes?: Notes
  /** The number of comments in the source. */
  comments?: Column<number>
  /** The list in a card with sub-items, which have the columns of cards. */
  parts?: string
}

interface Items extends Columns {
  checklist(item: Entry, board: Board): Entry | undefined
}

interface Comments {
  at?: string[]
  /** Returns the comments that a card contains. */
  in?(card: Entry): Entry[]
  /** The key of the card, if a row of `at` is a comment. */
  task?: Column<string>
  text: string
  author: Column<ImportedPerson>
  createdAt: string
}

/** How a product writes boards as JSON. */
export interface BoardSource {
  /** The message about a file without lists and cards. */
  missing: string
  /** Keys whose values are not read. */
  omit?: string[]
  /** Keys that are not read with the lists that cards refer to. */
  omitInLists?: string[]
  /** The lists that cards refer to, by the patterns of their rows. */
  lists?: Record<string, ListName | ((row: Entry) => [ListName, Entry][])>
  /** The key of the board's description. */
  description?: string
  colors?: Colors
  /** The key of the position of a list, a card, a checklist or an item. */
  position?: string
  field?(field: Entry): FieldParts
  cards: Columns
  items?: Items
  comments?: Comments
  /** Reads the rows of comments before the cards. */
  scan?(row: Entry, board: Board): void
}

/** Returns the reader of a product's files. It reads a file twice: the lists that cards refer to, then the cards. */
export const boardReader = (source: BoardSource): Reader =>
  async function* ({ open }) {
    const { cards, items, comments, omit } = source
    const board = new Board(source.colors, source.field)
    const description = await readLists(source, board, open)
    if (description) yield { kind: 'project', row: 0, description }
    yield* board.takeSpecs()
    const reading = new BoardReading(source, board)
    const patterns = new Set([cards, items, comments].flatMap((rows) => rows?.at ?? []))
    for await (const row of readEntries(open, [...patterns], omit)) {
      const read = reading.itemsOf(row)
      yield* board.takeSpecs()
      yield* read
    }
    yield* reading.end()
  }

/** Returns the description of the board. */
async function readLists(source: BoardSource, board: Board, open: Open): Promise<string | undefined> {
  const { lists = {}, description: key, cards, comments, omit = [], omitInLists = [] } = source
  let description: string | undefined
  const counted = cards.comments ? (comments?.at ?? []) : []
  const patterns = [...Object.keys(lists), ...(key ? [key] : []), ...counted]
  if (patterns.length === 0) return undefined
  for await (const row of readEntries(open, patterns, [...omit, ...omitInLists])) {
    const list = lists[row.part]
    if (row.part === key) description = row.text(key)
    else if (typeof list === 'string') board.add(list, row)
    else if (list) for (const [name, inside] of list(row)) board.add(name, inside)
    else {
      const task = textIn(row, comments!.task, board)
      if (task !== undefined) board.countComment(task)
      source.scan?.(row, board)
    }
  }
  return description
}

/** Returns the value of a column. @param read reads the value at a path */
function valueIn<V>(
  row: Entry,
  column: Column<V> | undefined,
  board: Board,
  read: (path: string) => V | undefined,
): V | undefined {
  if (typeof column === 'function') return column(row, board)
  return column === undefined ? undefined : read(column)
}
const textIn = (row: Entry, column: Column<string> | undefined, board: Board) =>
  valueIn(row, column, board, (path) => row.text(path))
const personIn = (row: Entry, column: Column<ImportedPerson> | undefined, board: Board) =>
  valueIn(row, column, board, (path) => board.person(row, path))

const notesIn = (row: Entry, notes: Notes = {}, board: Board): string[] =>
  Object.entries(notes).flatMap(([name, column]) =>
    [valueIn<NoteValue | NoteValue[]>(row, column, board, (path) => row.get(path))]
      .flat()
      .flatMap((value) => {
        if (!value) return []
        if (value === true) return name
        return `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`
      }),
  )

/** Returns the item without absent and empty parts. */
const itemOf = <Item extends ImportedItem>(parts: { [Part in keyof Item]: Item[Part] | undefined }): Item =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => !isEmpty(value))) as unknown as Item
const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

class BoardReading {
  private readonly cards = new InOrder()
  private readonly items = new InOrder()
  /** The latest creation time of the subtasks so far in ms, by the keys of tasks. */
  private readonly latest = new KeyMap<number>()
  /** Cards that are parts of other cards may be in the file twice. */
  private readonly parts = new KeyMap<true>()
  private isEmpty: boolean

  constructor(
    private readonly source: BoardSource,
    private readonly board: Board,
  ) {
    this.isEmpty = board.counts.lists === 0
  }

  itemsOf(row: Entry): ImportedItem[] {
    const { cards, items, comments } = this.source
    if (cards.at.includes(row.part) && cards.is?.(row) !== false) return this.readCard(row)
    if (items?.at.includes(row.part)) return this.readItem(row, items)
    const task = textIn(row, comments?.task, this.board)
    return task === undefined ? [] : [this.commentOf(row, comments!, task)]
  }

  /** @throws ImportError if the file had neither lists nor cards */
  end(): ImportedItem[] {
    if (this.isEmpty) throw new ImportError(this.source.missing)
    return [...this.cards.take(), ...this.items.take().map(this.inTime)]
  }

  /** @param parent the key of the card that contains the card */
  private readCard(card: Entry, parent?: string): ImportedItem[] {
    this.isEmpty = false
    const { board, parts } = this
    const { cards, comments, position } = this.source
    const own = comments?.in?.(card) ?? []
    const task = this.taskOf(card, cards, parent, own.length)
    const { key } = task
    if (task.parent !== undefined && parts.has(key)) return []
    if (task.parent !== undefined && parts.size < maxLinks) parts.set(key, true)
    const list = board.find('lists', textIn(card, cards.list, board))
    const items = position
      ? this.cards.add(task, [...board.placeOf(list, position), card.number(position)], card.characters)
      : [parent === undefined ? task : this.inTime(task)]
    return [
      ...items,
      ...own.map((row) => this.commentOf(row, comments!, key)),
      ...(cards.parts ? card.entries(cards.parts) : []).flatMap((part) => this.readCard(part, key)),
    ]
  }

  private taskOf(row: Entry, columns: Columns, parent: string | undefined, comments: number): TaskItem {
    const { board } = this
    const text = (column: Column<string> | undefined) => textIn(row, column, board)
    const key = text(columns.key) ?? idOf(row)
    const label = text(columns.label)
    const labels = valueIn(row, columns.labels, board, (path) => board.labelNames(row, path)) ?? []
    const people = valueIn(row, columns.people, board, (path) => board.people(row, path)) ?? []
    const also = people.slice(1).map(({ name }) => name)
    const values = board.fieldValues(valueIn(row, columns.values, board, () => undefined) ?? [])
    const total = valueIn(row, columns.comments, board, (path) => row.number(path)) ?? 0
    return itemOf<TaskItem>({
      ...{ kind: 'task', row: row.row, key, description: text(columns.description) },
      title: row.required(row.value.name === undefined ? 'title' : 'name'),
      list: text(columns.listName) ?? nameOf(board.find('lists', text(columns.list))),
      status: valueIn(row, columns.status, board, (path) => (row.isSet(path) ? 'DONE' : undefined)),
      ...{ dueDate: text(columns.dueDate), remindAt: text(columns.remindAt) },
      ...{ createdAt: text(columns.createdAt), author: personIn(row, columns.author, board) },
      ...{ assignee: people[0], fields: values.fields, parent: parent ?? text(columns.parent) },
      labels: [...new Set(label === undefined ? labels : [...labels, label])],
      blockedBy: valueIn(row, columns.blockedBy, board, (path) => row.texts(path)),
      notes: [
        ...notesIn(row, columns.notes, board),
        ...(also.length > 0 ? [`Also assigned: ${also.join(', ')}`] : []),
        ...values.notes,
      ],
      messages: [...board.missingComments(key, total, comments), ...values.messages],
    })
  }

  /**
   * Returns an item with a due date, a person or notes as a sub-item. The import turns it into a subtask, and adds these
   * values to the description of the card. If a card has several checklists, their names begin the titles.
   */
  private readItem(item: Entry, columns: Items): ImportedItem[] {
    const { position = '' } = this.source
    const checklist = columns.checklist(item, this.board)
    const card = (checklist ?? item).text('cardId|idCard')
    if (card === undefined) return []
    const { status = 'TODO', ...task } = this.taskOf(item, columns, card, 0)
    const name = this.board.of('checklists', card).length > 1 ? nameOf(checklist) : undefined
    if (name !== undefined) task.title = `${name}: ${task.title}`
    const { row, key, title, createdAt } = task
    const completed = status === 'DONE'
    const read =
      (task.dueDate ?? task.assignee ?? task.notes)
        ? { ...task, status }
        : itemOf<SubtaskItem>({ kind: 'subtask', row, key, title, createdAt, task: card, completed })
    const place = [checklist?.number(position), checklist?.row, item.number(position)]
    return this.items.add(read, place, item.characters).map(this.inTime)
  }

  /** Keeps the order of subtasks: lists sort them by the times in their ids, so these times must not decrease. */
  private inTime = (item: ImportedItem): ImportedItem => {
    const task = item.kind === 'subtask' ? item.task : item.kind === 'task' ? item.parent! : ''
    const { createdAt } = item as TaskItem
    const before = this.latest.get(task)
    const created = Date.parse(parseInstant(createdAt?.trim() ?? '') ?? '')
    const orderMs = Number.isNaN(created) || created <= before! ? before : created
    if (orderMs === undefined) return item
    if (before !== undefined || this.latest.size < maxLinks) this.latest.set(task, orderMs)
    return { ...item, orderMs } as ImportedItem
  }

  private commentOf(row: Entry, { text, author, createdAt }: Comments, task: string): CommentItem {
    return itemOf<CommentItem>({
      ...{ kind: 'comment', row: row.row, task, key: idOf(row), text: row.text(text) ?? '' },
      ...{ author: personIn(row, author, this.board), createdAt: row.text(createdAt) },
    })
  }
}

/** The maximum number of characters of the items in the buffer. */
const maxCharacters = 16_000_000

/** Sorts items by their positions. Sorts a large file in groups of 16 million characters. */
class InOrder {
  private buffer: { item: ImportedItem; order: (number | undefined)[] }[] = []
  private characters = 0

  /**
   * @param order positions, the most significant first. Items without a position come last.
   * @returns the sorted items when the buffer is full, else none
   */
  add(item: ImportedItem, order: (number | undefined)[], characters: number): ImportedItem[] {
    this.buffer.push({ item, order })
    this.characters += characters
    return this.characters > maxCharacters ? this.take() : []
  }

  take(): ImportedItem[] {
    this.characters = 0
    const items = this.buffer.splice(0).sort((one, other) => {
      const at = one.order.findIndex((position, n) => (position ?? Infinity) !== (other.order[n] ?? Infinity))
      return (one.order[at] ?? Infinity) < (other.order[at] ?? Infinity) ? -1 : at < 0 ? 0 : 1
    })
    return items.map(({ item }) => item)
  }
}
