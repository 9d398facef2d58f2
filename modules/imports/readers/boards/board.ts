import { FieldKeys } from '../../convert/fields.ts'
import { shortKey } from '../../convert/keys.ts'
import { type FieldItem, ImportError, type ImportedItem, type ImportedPerson } from '../../items.ts'
import { type Entry, isObject, type Json } from '../json/entry.ts'
import { maxKeptCharacters, maxLinks, maxNames } from '../json/json-file.ts'
import { KeyMap } from '../key-map.ts'
import { type Colors, colorOf } from './colors.ts'

export type ListName = 'lanes' | 'lists' | 'labels' | 'people' | 'fields' | 'checklists' | 'links'

/** Returns a key that contains no long text of the file. */
const keyOf = (list: string | number | undefined, id = ''): string => `${list} ${shortKey(id)}`

export const idOf = (row: Entry): string => row.text('_id|gid') ?? row.required('id')
export const nameOf = (row: Entry | undefined): string | undefined => row?.text('name|title')
/** Products show a label without a name as its color. */
const labelName = (label: Entry): string => label.text('name|title|color') ?? 'label'

/** Returns the person in a user of any product. */
function readPerson(user: Entry): ImportedPerson | undefined {
  const email = user.text('email')
  const name = user.text('login|fullName|profile.fullname|displayname|name|username|uid') ?? email
  return name === undefined ? undefined : { name, email }
}

export type FieldValue = [id: string, value: Json | undefined]
interface FieldParts {
  name: string
  /** The type in the product. Default: text. */
  type?: string | undefined
  options?: [id: string, name: string][]
}

interface Field {
  key: string
  name: string
  type: FieldItem['type']
  /** The names of options by their ids. */
  names: ReadonlyMap<string, string>
}
/** The types of custom fields in all products. Other types are texts. */
const fieldTypes = new Map<string | undefined, FieldItem['type']>([
  ['number', 'number'],
  ['currency', 'number'],
  ['checkbox', 'boolean'],
  ['date', 'date'],
  ['list', 'choice'],
  ['dropdown', 'choice'],
  ['enum', 'choice'],
])

/** The rows that cards refer to, and the labels, fields and comments that were read so far. */
export class Board {
  /** True for a file with the lists of a board, which may be empty. */
  hasLists = false
  /** The names or ids of the creators, by the ids of cards. */
  readonly creators = new KeyMap<string>()
  private readonly counts: Partial<Record<ListName, number>> = {}
  private characters = 0
  private readonly byId = new Map<string, Entry>()
  private readonly byCard = new Map<string, Entry[]>()
  private readonly places = new Map<Entry | undefined, number>()
  private readonly fields = new KeyMap<Field>()
  private readonly fieldKeys = new FieldKeys()
  private readonly comments = new KeyMap<number>()
  private readonly specs: ImportedItem[] = []

  constructor(private readonly colors: Colors = {}) {}

  /** Adds a row of a list, unless an earlier row has its id. @throws ImportError above a limit */
  add(list: ListName, row: Entry): void {
    const isOfCard = list === 'links' || list === 'checklists'
    if (list !== 'links') {
      if (this.find(list, idOf(row))) return
      this.byId.set(keyOf(list, idOf(row)), row)
    }
    const count = (this.counts[list] ?? 0) + 1
    this.counts[list] = count
    this.characters += row.characters
    const max = isOfCard ? maxLinks : maxNames
    if (count > max) throw new ImportError(`The file has more than ${max.toLocaleString('en')} ${list}`)
    if (this.characters > maxKeptCharacters)
      throw new ImportError(
        `The lists, labels and links of the cards have more than ${maxKeptCharacters.toLocaleString('en')} characters`,
      )
    if (list === 'labels') this.addLabel(row, count)
    if (list === 'fields') this.addField(row, count)
    if (list === 'lists') this.places.set(row, count)
    this.hasLists ||= list === 'lists'
    // A board of Deck contains its labels and lists.
    for (const label of list === 'lanes' ? row.entries('labels') : []) this.add('labels', label)
    for (const stack of list === 'lanes' ? row.entries('stacks') : []) this.add('lists', stack)
    // Items may be inside their checklist.
    if (list === 'checklists') this.byId.set(keyOf(list, row.path.join('.')), row)
    if (!isOfCard) return
    const key = keyOf(list === 'links' ? row.path.at(-2) : list, row.text('cardId|idCard'))
    const rows = this.byCard.get(key) ?? []
    rows.push(row)
    this.byCard.set(key, rows)
  }

  find(list: ListName, id: string | undefined): Entry | undefined {
    return id === undefined ? undefined : this.byId.get(keyOf(list, id))
  }

  /** Returns the rows that belong to the card. @param list its key in the file, such as `attachments` */
  of(list: string, card: string): Entry[] {
    return this.byCard.get(keyOf(list, card)) ?? []
  }

  /** Returns the position of a list among the lists of all lanes. */
  placeOf(id: string | undefined, position: string): (number | undefined)[] {
    const list = this.find('lists', id)
    const lane = this.find('lanes', list?.text('boardId'))
    return [lane?.row, list?.number(position), this.places.get(list)]
  }

  /** Returns the name of a lane, if there are several. */
  laneOf(id: string | undefined): string | undefined {
    return (this.counts.lanes ?? 0) > 1 ? nameOf(this.find('lanes', id)) : undefined
  }

  /**
   * Returns the people at these paths. A value is a user, an id, or a list of users or ids. The name is the id if the file
   * does not contain the user.
   */
  people(row: Entry, paths: string[]): ImportedPerson[] {
    const people = new Map<string, ImportedPerson>()
    for (const path of paths) {
      const given = row.get(path)
      for (const value of Array.isArray(given) ? given : given === undefined ? [] : [given]) {
        const user = isObject(value) ? row.inside(path, value) : undefined
        const participant = user?.isSet('participant') ? this.people(user, ['participant'])[0] : undefined
        const person = user ? (participant ?? readPerson(user)) : this.personWith(row.asText(path, value))
        if (person) people.set(`${person.name} ${person.email}`, person)
      }
    }
    return [...people.values()]
  }

  personWith(id: string): ImportedPerson {
    const user = this.find('people', id)
    return (user && readPerson(user)) ?? { name: id }
  }

  /** Returns the names of a list of labels: ids, names or objects. Adds the colors of objects. */
  labelNames(row: Entry, path: string): string[] {
    return row.list(path).flatMap(([at, value]) => {
      if (!isObject(value)) return this.labelOf(row.asText(at, value))
      const label = row.inside(at, value)
      if (label.isSet('color')) this.addLabel(label, label.row)
      return labelName(label)
    })
  }

  /** Returns no name for an unknown id. Without a list of labels in the file, the id is the name. */
  labelOf(id: string): string[] {
    const label = this.find('labels', id)
    return label ? [labelName(label)] : this.counts.labels ? [] : [id]
  }

  private addLabel(label: Entry, row: number): void {
    const color = colorOf(label.text('color'), this.colors)
    this.specs.push({ kind: 'label', row, name: labelName(label), color })
  }

  private addField(field: Entry, row: number): void {
    const all = [...field.entries('options'), ...field.entries('settings.dropdownItems')]
    const options = all.map((one): [string, string] => [idOf(one), one.text('value.text|name') ?? ''])
    this.defineField(idOf(field), row, { name: field.required('name'), type: field.text('type'), options })
  }

  /** Adds a custom field, if it is new and the file has not too many. @param row its number for the report */
  defineField(id: string, row: number, { name, options = [], ...given }: FieldParts): void {
    if (this.fields.get(id) || this.fields.size >= maxNames) return
    const key = this.fieldKeys.keyFor(name, id)
    const type = fieldTypes.get(given.type) ?? 'text'
    this.fields.set(id, { key, name, type, names: new Map(options) })
    this.specs.push({ kind: 'field', row, key, name, type, options: options.map(([, option]) => option) })
  }

  /** Returns the values of a card by field, notes for values without a field, and lines for the report. */
  fieldValues(values: FieldValue[]) {
    const fields: Record<string, string | number | boolean> = {}
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
    return this.specs.splice(0)
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
