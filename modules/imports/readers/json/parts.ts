import { parseInstant } from '../../../../src/schema/text.ts'
import { FieldKeys } from '../../convert/fields.ts'
import type { FieldItem, ImportedItem, ImportedPerson } from '../../items.ts'
import { KeyMap } from '../key-map.ts'
import type { Entry } from './entry.ts'
import { maxLinks } from './json-file.ts'

/** Returns the item without absent and empty parts. */
export const itemOf = <T extends object>(parts: T): T =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => !isEmpty(value))) as T

const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

export const isoTime = (milliseconds: number): string | undefined =>
  Number.isFinite(milliseconds) && Math.abs(milliseconds) <= 8.64e15
    ? new Date(milliseconds).toISOString()
    : undefined

/** Returns a person with the first name that is not absent. */
export function personOf(names: (string | undefined)[], email?: string): ImportedPerson | undefined {
  const name = names.find((one) => one !== undefined) ?? email
  return name === undefined ? undefined : { name, ...(email && { email }) }
}

/** Returns a line for the foot of the description, or nothing without a value. */
export const note = (name: string, value: string | number | undefined): string[] =>
  value === undefined || value === '' ? [] : [`${name}: ${value}`]

export const namesNote = (name: string, people: { name: string }[]): string[] =>
  note(name, people.map((person) => person.name).join(', '))

export const attachmentNote = (name: string | undefined, url: string | undefined): string[] =>
  note('Attachment', name && url && name !== url ? `${name} (${url})` : (name ?? url))

/** A task has one assignee: the first. */
export const assigneesOf = ([assignee, ...others]: ImportedPerson[]) => ({
  assignee,
  others: namesNote('Also assigned', others),
})

/** Counts the comments in the file, because many files do not contain all comments. */
export class CommentCounts {
  private readonly counts = new KeyMap<number>()

  add(task: string): void {
    const count = this.counts.get(task) ?? 0
    if (count > 0 || this.counts.size < maxLinks) this.counts.set(task, count + 1)
  }

  /** Returns a line for the report if the task has more comments than the file. @param total in the source */
  missing(task: string, total = 0): string[] {
    return this.counts.size === maxLinks ? [] : missingComments(total, this.counts.get(task) ?? 0)
  }
}

export const missingComments = (total: number, count: number): string[] =>
  total > count ? [`${total - count} of ${total} comments are not in the file`] : []

type Value = string | number | boolean

/** A custom field, and the names of its options by their ids. */
export interface CustomField {
  item: FieldItem
  options: ReadonlyMap<string, string>
}

export interface FieldParts {
  id: string
  /** Default: text. */
  type?: FieldItem['type'] | undefined
  options?: [id: string, name: string][] | undefined
}

/** Returns the custom fields of a board by their ids. */
export function customFields(entries: Entry[], partsOf: (entry: Entry) => FieldParts) {
  const keys = new FieldKeys()
  return new Map(
    entries.map((entry, n): [string, CustomField] => {
      const name = entry.required('name')
      const { id, type = 'text', options: pairs } = partsOf(entry)
      const options = new Map(pairs)
      const item = { kind: 'field' as const, row: n + 1, key: keys.keyFor(name, id), name, type }
      return [id, { item: itemOf({ ...item, options: [...options.values()] }), options }]
    }),
  )
}

/** Returns the values of a card by field, notes for values without a field, and lines for the report. */
export function fieldValues(
  given: [id: string, value: Value | undefined][],
  known: ReadonlyMap<string, CustomField>,
) {
  const fields: Record<string, Value> = {}
  const notes: string[] = []
  const messages: string[] = []
  for (const [id, value] of given) {
    const field = known.get(id)
    if (value === undefined) continue
    if (!field) notes.push(`Custom field ${id}: ${value}`)
    else {
      fields[field.item.key] = field.options.get(String(value)) ?? value
      messages.push(...lostTime(field.item, value))
    }
  }
  return { fields, notes, messages }
}

/** Returns a line for the report if a field of the type `date` loses the time of its value. */
export const lostTime = ({ name, type }: Pick<FieldItem, 'name' | 'type'>, value: unknown): string[] =>
  type === 'date' && /T(?!00:00:00)/.test(String(value))
    ? [`The field "${name}" has only the date of ${value}`]
    : []

/** The most characters of the items in the buffer. */
const maxCharacters = 16_000_000

type Positions = (number | undefined)[]

/** Sorts items by their positions. Sorts a large file in groups of 16 million characters. */
export class InOrder<T> {
  private buffer: { item: T; order: Positions }[] = []
  private characters = 0

  /**
   * @param order positions, the most significant first. Items without a position come last.
   * @returns the sorted items when the buffer is full, else none
   */
  add(item: T, order: Positions, characters: number): T[] {
    this.buffer.push({ item, order })
    this.characters += characters
    return this.characters > maxCharacters ? this.take() : []
  }

  take(): T[] {
    const items = this.buffer.sort((one, other) => compare(one.order, other.order)).map(({ item }) => item)
    this.buffer = []
    this.characters = 0
    return items
  }
}

function compare(one: Positions, other: Positions): number {
  for (const [n, position = Infinity] of one.entries()) {
    const against = other[n] ?? Infinity
    if (position !== against) return position < against ? -1 : 1
  }
  return 0
}

/** Keeps the order of subtasks: lists sort them by the times in their ids, so these times must not decrease. */
export class SubtaskOrder {
  /** The latest creation time so far in ms, by the keys of tasks. */
  private readonly latest = new KeyMap<number>()

  /** @param items subtasks and sub-items in the order of their positions */
  add(items: ImportedItem[]): ImportedItem[] {
    return items.map((item) => {
      const orderMs = this.orderOf(item)
      return orderMs === undefined ? item : { ...item, orderMs }
    })
  }

  private orderOf(item: ImportedItem): number | undefined {
    const task = item.kind === 'subtask' ? item.task : item.kind === 'task' ? item.parent : undefined
    if (task === undefined) return undefined
    const before = this.latest.get(task)
    const created = 'createdAt' in item ? Date.parse(parseInstant(item.createdAt?.trim() ?? '') ?? '') : NaN
    if (Number.isNaN(created) || created <= before!) return before
    if (before !== undefined || this.latest.size < maxLinks) this.latest.set(task, created)
    return created
  }
}
