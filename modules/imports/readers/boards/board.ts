import {
  type CommentItem,
  ImportError,
  type ImportedItem,
  type ImportedPerson,
  type TaskItem,
} from '../../items.ts'
import type { Entry } from '../json/entry.ts'
import { JsonFile, type JsonOptions, maxLinks, maxNames } from '../json/json-file.ts'
import {
  assigneesOf,
  CommentCounts,
  type CustomField,
  customFields,
  type FieldParts,
  fieldValues,
  InOrder,
  itemOf,
  SubtaskOrder,
} from '../json/parts.ts'
import type { Reader } from '../reader.ts'
import { colorOf, type Colors } from './colors.ts'

/** The lists of a file, as patterns of `JsonFile`. */
interface Parts {
  lists: string
  labels: string
  people: string
  fields: string
  checklists: string
  /** Lists whose rows belong to cards, such as the labels of all cards. */
  links?: string[]
  description?: string
  cards: string[]
  items: string
  comments: string
}

/** How a product writes boards as JSON. */
export interface BoardSource {
  parts: Parts
  /** The message if the file has none of the lists `required`. */
  missing: string
  required: string[]
  /** For the lists, labels, people, fields, checklists and links. */
  index?: JsonOptions
  /** For cards, items and comments. */
  rows?: JsonOptions
  colors: Colors
  /** The key of the position of a list, a card, a checklist or an item. */
  position: string
  idOf(entry: Entry): string
  person(entry: Entry): ImportedPerson | undefined
  field(entry: Entry): FieldParts
  /** Reads comments before the cards, if cards have the number of their comments. */
  scan?(row: Entry, board: Board): void
  card(card: Entry, board: Board): Card | undefined
  item(item: Entry, board: Board): CheckItem | undefined
  comment(row: Entry, board: Board): Omit<CommentItem, 'kind' | 'row'> | undefined
}

type Values = Parameters<typeof fieldValues>[0]
/** A card as the parts of a task, with the values that all products have in common. */
export interface Card extends Omit<TaskItem, 'kind' | 'row' | 'fields' | 'messages'> {
  listId: string | undefined
  people: ImportedPerson[]
  values: Values
  /** The number of comments in the source. */
  comments?: number | undefined
}

/** An item of a checklist. */
export interface CheckItem extends Pick<TaskItem, 'title' | 'createdAt' | 'dueDate' | 'assignee' | 'notes'> {
  key: string
  task: string | undefined
  checklist: Entry | undefined
  completed: boolean
}

/** The rows that cards refer to. */
export class Board {
  readonly lists: ReadonlyMap<string, Entry>
  readonly labels: ReadonlyMap<string, Entry>
  readonly fields: ReadonlyMap<string, CustomField>
  readonly checklists: ReadonlyMap<string, Entry>
  readonly comments = new CommentCounts()
  private readonly people: ReadonlyMap<string, ImportedPerson | undefined>
  private readonly byCard = new Map<string, ReadonlyMap<string, Entry[]>>()

  constructor(
    readonly source: BoardSource,
    readonly index: Record<string, Entry[]>,
  ) {
    const { parts, idOf } = source
    const byId = (part: string) => new Map(index[part]!.map((entry) => [idOf(entry), entry]))
    this.lists = byId(parts.lists)
    this.labels = byId(parts.labels)
    this.checklists = byId(parts.checklists)
    this.fields = customFields([...byId(parts.fields).values()], source.field)
    this.people = new Map(index[parts.people]!.map((one) => [idOf(one), source.person(one)]))
  }

  /** Returns the person with the id, whose name is the id if the file does not contain the person. */
  person(id: string): ImportedPerson
  person(id: string | undefined): ImportedPerson | undefined
  person(id: string | undefined): ImportedPerson | undefined {
    return id === undefined ? undefined : (this.people.get(id) ?? { name: id })
  }

  persons = (ids: string[]): ImportedPerson[] => ids.map((id) => this.person(id))

  labelNames = (ids: string[]): string[] =>
    ids.flatMap((id) => {
      const label = this.labels.get(id)
      return label ? labelName(label) : []
    })

  /** Returns the rows of a list that belong to the card, by the key of the card in a row. */
  of(part: string, card: string, key = 'cardId'): Entry[] {
    const known = this.byCard.get(part)
    const rows = known ?? Map.groupBy(this.index[part]!, (entry) => entry.text(key) ?? '')
    if (!known) this.byCard.set(part, rows)
    return card === '' ? [] : (rows.get(card) ?? [])
  }

  positionOf = (entry: Entry | undefined): number | undefined => entry?.number(this.source.position)
}

/** Boards show a label without a name as its color. */
export const labelName = (label: Entry): string => label.text('name') ?? label.text('color') ?? 'label'

/** Returns the reader of a product's boards. */
export const boardReader = (source: BoardSource): Reader =>
  async function* ({ open }) {
    const { parts } = source
    const file = new JsonFile(open)
    const board = await readIndex(file, source)
    yield* specsOf(board)
    if (source.scan) for await (const row of file.read([parts.comments], source.rows)) source.scan(row, board)
    const [cards, items, order] = [
      new InOrder<ImportedItem>(),
      new InOrder<ImportedItem>(),
      new SubtaskOrder(),
    ]
    for await (const row of file.read([...parts.cards, parts.items, parts.comments], source.rows)) {
      const card =
        parts.cards.includes(row.part) || row.part === parts.comments ? source.card(row, board) : undefined
      if (row.part === parts.items) {
        const item = source.item(row, board)
        if (item?.task !== undefined)
          yield* order.add(
            items.add(checkItemOf(item, item.task, row, board), placeOf(item, row, board), row.characters),
          )
      } else if (card) {
        const list = board.lists.get(card.listId ?? '')
        yield* cards.add(taskOf(card, row, board), [list, row].map(board.positionOf), row.characters)
      } else if (row.part === parts.comments) {
        const comment = source.comment(row, board)
        if (comment) yield itemOf<CommentItem>({ kind: 'comment', row: row.row, ...comment })
      }
    }
    yield* cards.take()
    yield* order.add(items.take())
  }

async function readIndex(file: JsonFile, source: BoardSource): Promise<Board> {
  const { lists, labels, people, fields, checklists, links = [], description } = source.parts
  const names = [lists, labels, people, fields, ...(description ? [description] : [])]
  const limits = [
    ...names.map((part) => [part, maxNames]),
    ...[checklists, ...links].map((part) => [part, maxLinks]),
  ]
  const index = await file.index(Object.fromEntries(limits) as Record<string, number>, source.index)
  if (!source.required.some((list) => file.lists.has(list))) throw new ImportError(source.missing)
  return new Board(source, index)
}

function* specsOf({ source, index, labels, fields }: Board): Generator<ImportedItem> {
  const { description } = source.parts
  const text = description && index[description]!.at(-1)?.text(description)
  if (text) yield { kind: 'project', row: 0, description: text }
  for (const [n, label] of [...labels.values()].entries())
    yield itemOf({
      ...{ kind: 'label', row: n + 1, name: labelName(label) },
      color: colorOf(label.text('color'), source.colors),
    })
  for (const { item } of fields.values()) yield item
}

function taskOf(card: Card, { row }: Entry, board: Board): TaskItem {
  const { listId: _, people, values, comments, ...task } = card
  const { assignee, others } = assigneesOf(people)
  const { fields, notes, messages } = fieldValues(values, board.fields)
  return itemOf<TaskItem>({
    ...{ kind: 'task', row, ...task, assignee, fields },
    notes: [...(task.notes ?? []), ...others, ...notes],
    messages: [...board.comments.missing(task.key, comments), ...messages],
  })
}

/**
 * Returns an item with a due date, a person or notes as a sub-item. The import turns it into a subtask, and adds these
 * values to the description of the card. If a card has several checklists, their names begin the titles.
 */
function checkItemOf(item: CheckItem, task: string, { row }: Entry, board: Board): ImportedItem {
  const { key, title, createdAt, completed, dueDate, assignee, notes = [], checklist } = item
  const isOneOfMany = board.of(board.source.parts.checklists, task, cardKeyOf(checklist)).length > 1
  const name = isOneOfMany && (checklist?.text('name') ?? checklist?.text('title'))
  const common = { row, key, title: name ? `${name}: ${title}` : title, createdAt }
  if (!dueDate && !assignee && notes.length === 0)
    return itemOf({ kind: 'subtask', ...common, task, completed })
  const status = completed ? 'DONE' : 'TODO'
  return itemOf({ kind: 'task', ...common, parent: task, status, dueDate, assignee, notes })
}

/** Trello writes `idCard`, other products write `cardId`. */
const cardKeyOf = (entry: Entry | undefined) => (entry?.has('idCard') ? 'idCard' : 'cardId')

const placeOf = ({ checklist }: CheckItem, item: Entry, board: Board) => [
  board.positionOf(checklist),
  checklist?.row,
  board.positionOf(item),
]
