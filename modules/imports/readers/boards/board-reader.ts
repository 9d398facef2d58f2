import { parseInstant } from '../../../../src/schema/text.ts'
import {
  type CommentItem,
  ImportError,
  type ImportedItem,
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

type Loose<T> = { [Key in keyof T]?: T[Key] | undefined }
type NoteValue = Json | undefined

/** A card as the parts of a task. Its title is `name` or `title`, and its key is the id, unless the source sets `key`. */
interface Card extends Loose<Omit<TaskItem, 'labels' | 'notes'>> {
  /** The id of the list, whose name is the default of `list`. */
  listId?: string | undefined
  /** The first person is the assignee. */
  people?: TaskItem['author'][]
  labels?: (string | undefined)[]
  values?: FieldValue[]
  /** The lines of each name, such as `Start: 2027-01-31`. A true value gives the name alone. */
  notes?: Record<string, NoteValue | NoteValue[]>
  comments?: Entry[]
  /** The number of comments in the source. */
  total?: number | undefined
  /** Sub-items, which are read as cards. */
  parts?: Entry[]
}

/** An item of a checklist. */
interface CheckItem extends Card {
  checklist: Entry | undefined
}

interface Comment extends Loose<Omit<CommentItem, 'kind' | 'row'>> {
  /** The key of the card that the comment belongs to. Undefined for a row that is not a comment. */
  task?: string | undefined
}

/** How a product writes boards as JSON. */
interface BoardSource {
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
  /** The patterns of the other rows. Comments are counted if cards have the number of their comments. */
  rows: { cards: string[]; items?: string[]; comments?: string[]; counted?: string[] }
  field?(field: Entry): FieldParts
  /** Returns undefined for a row that is not a card. */
  card(row: Entry, board: Board): Card | undefined
  item?(item: Entry, board: Board): CheckItem
  comment?(row: Entry, board: Board): Comment
  /** Reads the counted rows before the cards. */
  scan?(row: Entry): void
}

/** Returns the reader of a product's files. It reads a file twice: the lists that cards refer to, then the cards. */
export const boardReader = (source: BoardSource): Reader =>
  async function* ({ open }) {
    const board = new Board(source.colors, source.field)
    const description = await readLists(source, board, open)
    if (description) yield { kind: 'project', row: 0, description }
    yield* board.takeSpecs()
    const reading = new BoardReading(source, board)
    const { cards, items = [], comments = [] } = source.rows
    for await (const row of readEntries(open, [...new Set([...cards, ...items, ...comments])], source.omit)) {
      const read = reading.itemsOf(row)
      yield* board.takeSpecs()
      yield* read
    }
    yield* reading.end()
  }

/** Returns the description of the board. */
async function readLists(source: BoardSource, board: Board, open: Open): Promise<string | undefined> {
  const { lists = {}, description: key, rows, omit = [], omitInLists = [] } = source
  let description: string | undefined
  const patterns = [...Object.keys(lists), ...(key ? [key] : []), ...(rows.counted ?? [])]
  if (patterns.length === 0) return undefined
  const onList = (path: string) => void (board.hasLists ||= lists[`${path}.*`] === 'lists')
  for await (const row of readEntries(open, patterns, [...omit, ...omitInLists], onList)) {
    const list = lists[row.part]
    if (row.part === key) description = row.text(key)
    else if (typeof list === 'string') board.add(list, row)
    else if (list) for (const [name, inside] of list(row)) board.add(name, inside)
    else {
      const { task } = source.comment!(row, board)
      if (task !== undefined) board.countComment(task)
      source.scan?.(row)
    }
  }
  return description
}

const notesOf = (notes: Card['notes'] = {}): string[] =>
  Object.entries(notes).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => {
      if (!value) return []
      if (value === true) return name
      return `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`
    }),
  )

/** Returns the item without absent and empty parts. */
const itemOf = <Item extends ImportedItem>(parts: Loose<Item>): Item =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => !isEmpty(value))) as unknown as Item
const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

class BoardReading {
  private readonly buffer = new InOrder()
  /** The latest creation time of the subtasks so far in ms, by the keys of tasks. */
  private readonly latest = new KeyMap<number>()
  /** Cards that are parts of other cards may be in the file twice. */
  private readonly parts = new KeyMap<true>()
  private isEmpty: boolean

  constructor(
    private readonly source: BoardSource,
    private readonly board: Board,
  ) {
    this.isEmpty = !board.hasLists && board.counts.lists === 0
  }

  itemsOf(row: Entry): ImportedItem[] {
    const { rows } = this.source
    if (rows.items?.includes(row.part)) return this.readItem(row)
    const items = rows.cards.includes(row.part) ? this.readCard(row) : undefined
    return items ?? (rows.comments?.includes(row.part) ? this.readComment(row) : [])
  }

  /** @throws ImportError if the file had neither lists nor cards */
  end(): ImportedItem[] {
    if (this.isEmpty) throw new ImportError(this.source.missing)
    return this.buffer.take().map(this.inTime)
  }

  /** @param parent the key of the card that contains the card */
  private readCard(row: Entry, parent?: string): ImportedItem[] | undefined {
    const { board, parts } = this
    const { position } = this.source
    const card = this.source.card(row, board)
    if (!card) return undefined
    this.isEmpty = false
    const task = this.taskOf(row, card, parent)
    if (task.parent !== undefined && parts.has(task.key)) return []
    if (task.parent !== undefined && parts.size < maxLinks) parts.set(task.key, true)
    // Cards come before the items of checklists.
    const place = position ? [0, ...board.placeOf(card.listId, position), row.number(position)] : []
    const items = position ? this.buffer.add(task, place, row.characters) : [task]
    return [
      ...items.map(this.inTime),
      ...(card.comments ?? []).flatMap((comment) => this.readComment(comment, task.key)),
      ...(card.parts ?? []).flatMap((part) => this.readCard(part, task.key) ?? []),
    ]
  }

  private taskOf(row: Entry, card: Card, parent: string | undefined): TaskItem {
    const { board } = this
    const {
      listId,
      people: given = [],
      labels = [],
      values = [],
      notes,
      comments = [],
      total = 0,
      parts: _,
      ...rest
    } = card
    const [assignee, ...people] = given.filter((person) => person !== undefined)
    const also = people.map(({ name }) => name).join(', ')
    const own = board.fieldValues(values)
    const { key = idOf(row) } = card
    return itemOf<TaskItem>({
      ...{ kind: 'task', row: row.row, list: nameOf(board.find('lists', listId)), assignee },
      title: row.required(row.value.name === undefined ? 'title' : 'name'),
      ...{ ...rest, key, parent: parent ?? card.parent, fields: own.fields },
      labels: [...new Set(labels.filter((label) => label !== undefined))],
      notes: [...notesOf(notes), ...notesOf({ 'Also assigned': also }), ...own.notes],
      messages: [...board.missingComments(key, total, comments.length), ...own.messages],
    })
  }

  /**
   * Returns an item with a due date, a person or notes as a sub-item. The import turns it into a subtask, and adds these
   * values to the description of the card. If a card has several checklists, their names begin the titles.
   */
  private readItem(row: Entry): ImportedItem[] {
    const { position = '' } = this.source
    const { checklist, ...item } = this.source.item!(row, this.board)
    const card = (checklist ?? row).text('cardId|idCard')
    if (card === undefined) return []
    const { status = 'TODO', ...task } = this.taskOf(row, item, card)
    const name = this.board.of('checklists', card).length > 1 ? nameOf(checklist) : undefined
    if (name !== undefined) task.title = `${name}: ${task.title}`
    const { key, title, createdAt } = task
    const subtask = { ...{ row: row.row, key, title, createdAt, task: card }, completed: status === 'DONE' }
    const read =
      (task.dueDate ?? task.assignee ?? task.notes)
        ? { ...task, status }
        : itemOf<SubtaskItem>({ kind: 'subtask', ...subtask })
    const place = [1, checklist?.number(position), checklist?.row, row.number(position)]
    return this.buffer.add(read, place, row.characters).map(this.inTime)
  }

  /** Keeps the order of subtasks: lists sort them by the times in their ids, so these times must not decrease. */
  private inTime = (item: ImportedItem): ImportedItem => {
    const task = item.kind === 'subtask' ? item.task : item.kind === 'task' ? item.parent : undefined
    if (task === undefined) return item
    const { createdAt } = item as TaskItem
    const before = this.latest.get(task)
    const created = Date.parse(parseInstant(createdAt?.trim() ?? '') ?? '')
    const orderMs = Number.isNaN(created) || created <= before! ? before : created
    if (orderMs === undefined) return item
    if (before !== undefined || this.latest.size < maxLinks) this.latest.set(task, orderMs)
    return { ...item, orderMs } as ImportedItem
  }

  private readComment(row: Entry, card?: string): ImportedItem[] {
    const { task = card, text = '', ...comment } = this.source.comment!(row, this.board)
    if (task === undefined) return []
    return [itemOf<CommentItem>({ kind: 'comment', row: row.row, key: idOf(row), task, text, ...comment })]
  }
}

/** The maximum number of characters of the items in the buffer. */
const maxCharacters = 16_000_000

type Positions = (number | undefined)[]

/** Sorts items by their positions. Sorts a large file in groups of 16 million characters. */
class InOrder {
  private buffer: { item: ImportedItem; order: Positions }[] = []
  private characters = 0

  /**
   * @param order positions, the most significant first. Items without a position come last.
   * @returns the sorted items when the buffer is full, else none
   */
  add(item: ImportedItem, order: Positions, characters: number): ImportedItem[] {
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
