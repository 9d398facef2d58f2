import { ImportError, type SubtaskItem, type TaskItem } from '../../items.ts'
import { type Entry, readEntries } from '../json-file.ts'
import { KeyMap } from '../key-map.ts'
import type { Reader } from '../reader.ts'
import { Board, nameOf, type Table } from './board.ts'
import { commentOf, commentsIn, creationIn, listOf, type OwnValues, taskOf } from './cards.ts'

type Kind = Table | 'description' | 'card' | 'item' | 'comment' | undefined

/** How a product writes boards as JSON. */
interface BoardSource {
  /** The message about a file without lists and cards. */
  missing: string
  /** The names of colors, see `colorOf`. */
  colors?: string
  /** The key of the position of a list, a card, a checklist or an item. */
  position?: string
  /** What the objects in the file are, by their patterns. */
  parts: Record<string, Kind | ((row: Entry) => Kind)>
  /** Returns the values of a card that differ from the usual ones; undefined for a row that is not a card. */
  card?(row: Entry, board: Board, inside?: string): OwnValues | undefined
  /** The key of the cards that are parts of a card. */
  cardsInside?: string
}

/** Returns the reader of a product's files. It reads a file twice: the lists that cards refer to, then the cards. */
export const boardReader = (source: BoardSource): Reader =>
  async function* ({ open }) {
    const reading = new BoardReading(source)
    const { ready } = reading.board
    for (const pass of ['add', 'read'] as const)
      for await (const row of readEntries(open, Object.keys(source.parts))) {
        reading[pass](row)
        yield* ready.splice(0)
      }
    reading.takeSorted()
    if (!reading.board.has('lists') && !reading.hasCards) throw new ImportError(source.missing)
    yield* ready.splice(0)
  }

const maxSortedCharacters = 16_000_000

/** A position, the most significant number first. A missing number is the last one. */
type Place = (number | undefined)[]

class BoardReading {
  readonly board: Board
  hasCards = false
  private readonly position: string
  /** Cards that are parts of other cards may be in the file twice. */
  private readonly parts = new KeyMap<true>()
  private unsorted: { item: TaskItem | SubtaskItem; place: Place }[] = []
  private characters = 0

  constructor(private readonly source: BoardSource) {
    this.board = new Board(source.colors)
    this.position = source.position ?? ''
  }

  private kindOf(row: Entry): Kind {
    const kind = this.source.parts[row.part]
    return typeof kind === 'function' ? kind(row) : kind
  }

  /** Adds a row of the first pass. */
  add(row: Entry): void {
    const { board } = this
    const kind = this.kindOf(row)
    if (kind === 'description') board.ready.push({ kind: 'project', row: 0, description: row.text(row.part) })
    else if (kind === 'comment') {
      const [card, creator] = creationIn(row)
      if (card !== undefined && creator !== undefined) board.creators.setIfSpace(card, creator)
    } else if (kind && kind !== 'card' && kind !== 'item') board.add(kind, row)
  }

  /** Reads a row of the second pass. */
  read(row: Entry): void {
    const kind = this.kindOf(row)
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
    const { source, board, parts, position } = this
    const task = this.taskOf(row, inside)
    if (!task) return
    this.hasCards = true
    const { key, parent } = task
    if (parent !== undefined && parts.get(key)) return
    if (parent !== undefined) parts.setIfSpace(key, true)
    // Cards come before the items of checklists.
    this.sort(task, [0, ...board.placeOf(listOf(row), position), row.number(position)])
    for (const comment of commentsIn(row)) this.readComment(comment, key)
    for (const part of source.cardsInside ? row.entries(source.cardsInside) : []) this.readCard(part, key)
  }

  /**
   * Adds an item with a due date, a person or notes as a sub-item. The import turns it into a subtask, and adds these
   * values to the description of the card. If a card has several checklists, their names begin the titles.
   */
  private readItem(row: Entry): void {
    const { board, position } = this
    const id = row.text('taskListId|checklistId') ?? row.path.split('.').slice(0, 2).join('.')
    const checklist = board.find('checklists', id)
    const card = (checklist ?? row).text('cardId|idCard')
    const task = card === undefined ? undefined : this.taskOf(row, card)
    if (card === undefined || !task) return
    const name = board.of('checklists', card).length > 1 ? nameOf(checklist) : undefined
    if (name) task.title = `${name}: ${task.title}`
    task.status = row.text('state') === 'complete' ? 'DONE' : (task.status ?? 'TODO')
    const { key, title, createdAt } = task
    const parts = { row: row.row, key, title, createdAt }
    const item: TaskItem | SubtaskItem =
      task.dueDate || task.assignee || task.notes?.length
        ? task
        : { kind: 'subtask', ...parts, task: card, completed: task.status === 'DONE' }
    this.sort(item, [1, checklist?.number(position), checklist?.row, row.number(position)])
  }

  private readComment(row: Entry, inside?: string): void {
    const comment = commentOf(row, this.board, inside)
    if (comment) this.board.ready.push(comment)
  }

  private sort(item: TaskItem | SubtaskItem, place: Place): void {
    this.unsorted.push({ item, place })
    this.characters += JSON.stringify(item).length
    if (this.position === '' || this.characters > maxSortedCharacters) this.takeSorted()
  }

  /** Makes the items so far ready, in the order of their positions. A large file is sorted in groups. */
  takeSorted(): void {
    this.characters = 0
    const sorted = this.unsorted.splice(0).sort((one, other) => {
      const at = one.place.findIndex((position, n) => (position ?? Infinity) !== (other.place[n] ?? Infinity))
      return (one.place[at] ?? Infinity) < (other.place[at] ?? Infinity) ? -1 : at < 0 ? 0 : 1
    })
    for (const { item } of sorted) this.board.ready.push(item)
  }
}
