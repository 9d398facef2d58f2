import { parseInstant } from '../../../../src/schema/text.ts'
import { type CommentItem, ImportError, type ImportedItem, isSpec, type TaskItem } from '../../items.ts'
import type { Open } from '../csv/text.ts'
import type { Entry } from '../json/entry.ts'
import { maxLinks, readEntries } from '../json/json-file.ts'
import { KeyMap } from '../key-map.ts'
import type { Reader } from '../reader.ts'
import { Board, idOf, type ListName, nameOf } from './board.ts'
import { type Card, cardOf, type Comment, commentOf, creationIn, namesOf } from './cards.ts'
import type { Colors } from './colors.ts'

/** How a product writes boards as JSON. */
interface BoardSource {
  /** The message about a file without lists and cards. */
  missing: string
  /** Keys whose values are not read. */
  omit: string[]
  /** Keys that are not read with the lists that cards refer to. */
  omitInLists?: string[]
  /** The lists that cards refer to, by the patterns of their rows. */
  lists?: Record<string, ListName | ((row: Entry) => ListName | undefined)>
  description?: string
  colors?: Colors
  /** The key of the position of a list, a card, a checklist or an item. */
  position?: string
  /** The patterns of the other rows. */
  rows: { cards: string[]; items?: string[]; comments?: string[] }
  isCard?(row: Entry): boolean
  /** Returns the parts of a card that differ from the usual ones. Labels and notes are added. */
  card?(row: Entry, board: Board): Card
  /** Returns the key of the card that a comment belongs to, if not the usual one. */
  commented?(row: Entry): string | undefined
}

/** Returns the reader of a product's files. It reads a file twice: the lists that cards refer to, then the cards. */
export const boardReader = (source: BoardSource): Reader =>
  async function* ({ open }) {
    const board = new Board(source.colors)
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

/** Reads the lists, and counts the comments. Returns the description of the board. */
async function readLists(source: BoardSource, board: Board, open: Open): Promise<string | undefined> {
  const { lists = {}, description: key, rows, omit, omitInLists = [] } = source
  let description: string | undefined
  const patterns = [...Object.keys(lists), ...(key ? [key] : []), ...(rows.comments ?? [])]
  if (patterns.length === 0) return undefined
  const onList = (path: string) => void (board.hasLists ||= lists[`${path}.*`] === 'lists')
  for await (const row of readEntries(open, patterns, [...omit, ...omitInLists], onList)) {
    const of = lists[row.part]
    const list = typeof of === 'function' ? of(row) : of
    if (row.part === key) description = row.text(key)
    if (list) board.add(list, row)
    if (!rows.comments?.includes(row.part)) continue
    const { task } = commentIn(row, source, board)
    if (task !== undefined) board.countComment(task)
    const { card, creator } = creationIn(row)
    if (card !== undefined && creator !== undefined && board.creators.size < maxLinks)
      board.creators.set(card, creator)
  }
  return description
}

function commentIn(row: Entry, { commented }: BoardSource, board: Board): Comment {
  const comment = commentOf(row, board)
  return commented ? { ...comment, task: commented(row) } : comment
}

const linesOf = (notes: Card['notes'] = {}): string[] =>
  Object.entries(notes).flatMap(([name, values]) =>
    (Array.isArray(values) ? values : [values]).flatMap((value) => {
      if (!value) return []
      if (value === true) return name
      return `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`
    }),
  )

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
    this.isEmpty = !board.hasLists
  }

  itemsOf(row: Entry): ImportedItem[] {
    const { rows, isCard } = this.source
    if (rows.items?.includes(row.part)) return this.readItem(row)
    if (rows.cards.includes(row.part) && (!isCard || isCard(row))) return this.readCard(row)
    return rows.comments?.includes(row.part) ? this.readComment(row) : []
  }

  /** @throws ImportError if the file had neither lists nor cards */
  end(): ImportedItem[] {
    if (this.isEmpty) throw new ImportError(this.source.missing)
    return this.buffer.take().map(this.inTime)
  }

  private readCard(row: Entry, parent?: string): ImportedItem[] {
    const { board, parts } = this
    const { position } = this.source
    this.isEmpty = false
    const { task, listId, comments = [], parts: inside = [] } = this.taskOf(row, parent)
    if (task.parent !== undefined && parts.get(task.key)) return []
    if (task.parent !== undefined && parts.size < maxLinks) parts.set(task.key, true)
    // Cards come before the items of checklists.
    const place = position ? [0, ...board.placeOf(listId, position), row.number(position)] : []
    const items = position ? this.buffer.add(task, place, row.characters) : [task]
    return [
      ...items.map(this.inTime),
      ...comments.flatMap((comment) => this.readComment(comment, task.key)),
      ...inside.flatMap((part) => this.readCard(part, task.key)),
    ]
  }

  private taskOf(row: Entry, inside?: string): Card & { task: TaskItem } {
    const { source, board } = this
    const [usual, own] = [cardOf(row, board), source.card?.(row, board) ?? {}]
    const all = { ...usual, ...own }
    const { people = [], values = [], comments = [], parts, total = 0, listId, ...card } = all
    const [assignee, ...others] = people
    const { fields, notes, messages } = board.fieldValues(values)
    const { key = idOf(row), parent = inside } = card
    const labels = [...(usual.labels ?? []), ...(own.labels ?? [])].filter((label) => label !== undefined)
    const { Attachment, ...usualNotes } = usual.notes ?? {}
    const task: TaskItem = {
      ...card,
      ...{ kind: 'task', row: row.row, key, parent, assignee, fields, labels: [...new Set(labels)] },
      title: row.required(row.value.name === undefined ? 'title' : 'name'),
      notes: [
        ...linesOf({ ...usualNotes, ...own.notes, Attachment, 'Also assigned': namesOf(others) }),
        ...notes,
      ],
      messages: [...board.missingComments(key, total, comments.length), ...messages],
    }
    return { task, listId, comments, parts }
  }

  /**
   * Returns an item with a due date, a person or notes as a sub-item. The import turns it into a subtask, and adds these
   * values to the description of the card. If a card has several checklists, their names begin the titles.
   */
  private readItem(row: Entry): ImportedItem[] {
    const { position = '' } = this.source
    const checklist = this.board.find(
      'checklists',
      row.text('taskListId|checklistId') ?? row.path.slice(0, 2).join('.'),
    )
    const card = (checklist ?? row).text('cardId|idCard')
    if (card === undefined) return []
    const { task } = this.taskOf(row, card)
    if (row.text('state') === 'complete') task.status = 'DONE'
    const { key, title, createdAt, status = 'TODO' } = task
    const name = this.board.of('checklists', card).length > 1 ? nameOf(checklist) : undefined
    const parts = { row: row.row, key, title: name ? `${name}: ${title}` : title, createdAt }
    const item: ImportedItem =
      task.dueDate || task.assignee || task.notes?.length
        ? { ...task, ...parts, status }
        : { kind: 'subtask', ...parts, task: card, completed: status === 'DONE' }
    const place = [1, checklist?.number(position), checklist?.row, row.number(position)]
    return this.buffer.add(item, place, row.characters).map(this.inTime)
  }

  /** Keeps the order of subtasks: lists sort them by the times in their ids, so these times must not decrease. */
  private inTime = (item: ImportedItem): ImportedItem => {
    const task = isSpec(item) ? undefined : item.kind === 'task' ? item.parent : item.task
    if (task === undefined || isSpec(item)) return item
    const before = this.latest.get(task)
    const created = Date.parse(parseInstant(item.createdAt?.trim() ?? '') ?? '')
    const orderMs = Number.isNaN(created) || created <= before! ? before : created
    if (orderMs === undefined) return item
    if (before !== undefined || this.latest.size < maxLinks) this.latest.set(task, orderMs)
    return { ...item, orderMs }
  }

  private readComment(row: Entry, card?: string): ImportedItem[] {
    const { task = card, text = '', ...comment } = commentIn(row, this.source, this.board)
    if (task === undefined) return []
    const item: CommentItem = { kind: 'comment', row: row.row, key: idOf(row), task, text, ...comment }
    return [item]
  }
}

const maxCharacters = 16_000_000

type Positions = (number | undefined)[]

/** Sorts items by their positions. Sorts a large file in groups of 16 million characters. */
class InOrder {
  private buffer: { item: ImportedItem; order: Positions }[] = []
  private characters = 0

  /** Returns the sorted items if the buffer is full, else none. @param order positions, the most significant first */
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
