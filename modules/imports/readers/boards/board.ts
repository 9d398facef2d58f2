import { FieldKeys } from '../../convert/fields.ts'
import { shortKey } from '../../convert/keys.ts'
import { cut } from '../../convert/texts.ts'
import { type FieldItem, ImportError, type ImportedItem, type ImportedPerson } from '../../items.ts'
import { type Entry, isObject, type Json } from '../json/entry.ts'
import { maxKeptCharacters, maxLinks, maxNames } from '../json/json-file.ts'
import { KeyMap } from '../key-map.ts'
import { type Colors, colorOf } from './colors.ts'

/** The lists of a file that cards refer to, and the maximum number of rows of each list. */
const maxRows = {
  ...{ lanes: maxNames, lists: maxNames, labels: maxNames, people: maxNames, fields: maxNames },
  ...{ checklists: maxLinks, links: maxLinks },
}
export type ListName = keyof typeof maxRows

const eachList = <T>(of: () => T) =>
  Object.fromEntries(Object.keys(maxRows).map((list) => [list, of()])) as Record<ListName, T>

/** Returns the key of the rows of a card, which contains no long text of the file. */
const keyOf = (list: string | number | undefined, id = ''): string => `${list} ${shortKey(id)}`

export const idOf = (row: Entry): string => row.text('_id|gid') ?? row.required('id')
export const nameOf = (row: Entry | undefined): string | undefined => row?.text('name|title')
/** Products show a label without a name as its color. */
const labelName = (label: Entry): string => label.text('name|title|color') ?? 'label'

export const attachment = (name: string | undefined, url: string | undefined): string | undefined =>
  name && url && name !== url ? `${name} (${url})` : (name ?? url)
/** Returns the notes of an archived card. @param flag the key in a card or a list */
export const archived = (card: Entry, list: Entry | undefined, flag: string) => ({
  Archived: card.isSet(flag),
  'In an archived list': !card.isSet(flag) && list?.isSet(flag) === true,
})
export const doneIf = (isDone: boolean | undefined) => (isDone ? ('DONE' as const) : undefined)
export const isoTime = (milliseconds: number): string | undefined =>
  Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : undefined

/** Returns the person in a user of any product. */
function readPerson(user: Entry): ImportedPerson | undefined {
  const email = user.text('email')
  const name = user.text('login|fullName|profile.fullname|displayname|name|username|uid') ?? email
  return name === undefined ? undefined : { name, ...(email && { email }) }
}

export interface FieldParts {
  /** Default: text. */
  type?: FieldItem['type'] | undefined
  options?: [id: string, name: string][] | undefined
}
export type FieldValue = [id: string, value: Json | undefined]
type Value = string | number | boolean

const maxName = 100

interface Field {
  key: string
  name: string
  type: FieldItem['type']
  /** The names of options by their ids. */
  names: ReadonlyMap<string, string>
}

/** The rows that cards refer to, and the labels, fields and comments that were read so far. */
export class Board {
  /** True for a file with the lists of a board, which may be empty. */
  hasLists = false
  /** The number of rows of each list. */
  readonly counts = eachList(() => 0)
  private characters = 0
  private readonly byId = eachList(() => new Map<string, Entry>())
  private readonly byCard = new Map<string, Entry[]>()
  private readonly places = new Map<Entry, number>()
  private readonly labels = new KeyMap<true>()
  private readonly fields = new KeyMap<Field>()
  private readonly fieldKeys = new FieldKeys()
  private readonly comments = new KeyMap<number>()
  private specs: ImportedItem[] = []

  constructor(
    private readonly colors: Colors | undefined,
    private readonly fieldParts: (field: Entry) => FieldParts = () => ({}),
  ) {}

  /** Adds a row of a list, unless an earlier row has its id. @throws ImportError above a limit */
  add(list: ListName, row: Entry): void {
    const id = list === 'links' ? undefined : shortKey(idOf(row))
    if (id !== undefined && this.byId[list].has(id)) return
    if (id !== undefined) this.byId[list].set(id, row)
    const count = ++this.counts[list]
    this.characters += row.characters
    if (count > maxRows[list])
      throw new ImportError(`The file has more than ${maxRows[list].toLocaleString('en')} ${list}`)
    if (this.characters > maxKeptCharacters)
      throw new ImportError(
        `The lists, labels and links of the cards have more than ${maxKeptCharacters.toLocaleString('en')} characters`,
      )
    if (list === 'labels') this.addLabel(row, count)
    if (list === 'fields') this.defineField(idOf(row), count, row.required('name'), this.fieldParts(row))
    if (list === 'lists') this.places.set(row, count)
    if (list !== 'links' && list !== 'checklists') return
    const key = keyOf(list === 'links' ? row.path.at(-2) : list, row.text('cardId|idCard'))
    const rows = this.byCard.get(key)
    if (rows) rows.push(row)
    else this.byCard.set(key, [row])
  }

  find(list: ListName, id: string | undefined): Entry | undefined {
    return id === undefined ? undefined : this.byId[list].get(shortKey(id))
  }

  /**
   * Returns the rows that belong to the card.
   * @param list the key of the list in the file, such as `attachments`
   */
  of(list: string, card: string): Entry[] {
    return this.byCard.get(keyOf(list, card)) ?? []
  }

  /** Returns the position of a list among the lists of all lanes. */
  placeOf(id: string | undefined, position: string): (number | undefined)[] {
    const list = this.find('lists', id)
    const lane = this.find('lanes', list?.text('boardId'))
    return [lane?.row, list?.number(position), list && this.places.get(list)]
  }

  /** Returns the name of a lane, if there are several. */
  laneOf(id: string | undefined): string | undefined {
    return this.counts.lanes > 1 ? nameOf(this.find('lanes', id)) : undefined
  }

  /** Returns the person of a user or an id. The name is the id if the file does not contain the user. */
  person(row: Entry, path: string, value = row.get(path)): ImportedPerson | undefined {
    if (value === undefined) return undefined
    if (isObject(value)) {
      const user = row.inside(path, value)
      return 'participant' in value ? this.person(user, 'participant') : readPerson(user)
    }
    const id = row.asText(path, value)
    const user = this.find('people', id)
    return (user && readPerson(user)) ?? { name: id }
  }

  /** Returns the people at these paths. A value is a user, an id, or a list of users or ids. */
  people(row: Entry, ...paths: string[]): ImportedPerson[] {
    const people = paths.flatMap((path) =>
      [row.get(path) ?? []].flat().flatMap((value) => this.person(row, path, value) ?? []),
    )
    return [...new Map(people.map((one) => [`${one.name} ${one.email}`, one])).values()]
  }

  names(row: Entry, ...paths: string[]): string {
    return this.people(row, ...paths)
      .map(({ name }) => name)
      .join(', ')
  }

  /** Returns the names of a list of labels: ids, names or objects. */
  labelNames(row: Entry, path: string): string[] {
    return row.list(path).flatMap(([key, value]) => {
      const at = `${path}.${key}`
      if (isObject(value)) return this.colored(row.inside(at, value))
      return this.labelOf(row.asText(at, value))
    })
  }

  /** Returns no name for an unknown id. Without a list of labels in the file, the id is the name. */
  labelOf(id: string): string[] {
    const label = this.find('labels', id)
    return label ? [labelName(label)] : this.counts.labels > 0 ? [] : [id]
  }

  /** Returns the name of the label. Remembers a label that only cards contain, because its color needs an item. */
  private colored(label: Entry): string {
    const name = labelName(label)
    if (colorOf(label.text('color'), this.colors) && !this.labels.has(name) && this.labels.size < maxNames)
      this.addLabel(label, label.row)
    return name
  }

  private addLabel(label: Entry, row: number): void {
    const [name, color] = [labelName(label), colorOf(label.text('color'), this.colors)]
    this.labels.set(name, true)
    this.specs.push({ kind: 'label', row, name, ...(color && { color }) })
  }

  /** Adds a custom field, if it is new and the file has not too many. */
  defineField(id: string, row: number, name: string, { type = 'text', options = [] }: FieldParts): void {
    if (this.fields.has(id) || this.fields.size >= maxNames) return
    const key = this.fieldKeys.keyFor(name, id)
    const ids = options.filter(([option, called]) => option !== called)
    this.fields.set(id, { key, name: cut(name, maxName), type, names: new Map(ids) })
    const names = options.map(([, option]) => option)
    this.specs.push({ kind: 'field', row, key, name, type, ...(names.length > 0 && { options: names }) })
  }

  /** Returns the values of a card by field, notes for values without a field, and lines for the report. */
  fieldValues(values: FieldValue[]) {
    const fields: Record<string, Value> = {}
    const [notes, messages]: [string[], string[]] = [[], []]
    for (const [id, value] of values) {
      if (value === undefined || value === null || typeof value === 'object') continue
      const field = this.fields.get(id)
      if (!field) notes.push(`Custom field ${id}: ${value}`)
      else fields[field.key] = field.names.get(String(value)) ?? value
      if (field?.type === 'date' && /T(?!00:00:00)/.test(String(value)))
        messages.push(`The field "${field.name}" has only the date of ${value}`)
    }
    return { fields, notes, messages }
  }

  /** Returns the items of labels and fields that were added since the last call. */
  takeSpecs(): ImportedItem[] {
    const { specs } = this
    this.specs = []
    return specs
  }

  countComment(task: string): void {
    const count = this.comments.get(task) ?? 0
    if (count > 0 || this.comments.size < maxLinks) this.comments.set(task, count + 1)
  }

  /** Returns a line for the report if the task has more comments than the file. */
  missingComments(task: string, total: number, nested: number): string[] {
    const missing = total - nested - (this.comments.get(task) ?? 0)
    const isKnown = missing > 0 && this.comments.size < maxLinks
    return isKnown ? [`${missing} of ${total} comments are not in the file`] : []
  }
}
