import { FieldKeys } from '../../convert/names.ts'
import { type FieldItem, ImportError, type ImportedItem, type ImportedPerson } from '../../items.ts'
import { type Entry, isObject, type Json } from '../json-file.ts'
import { countCharacters, KeyMap, maxLinks, maxNames } from '../key-map.ts'

/** The lists that cards refer to. Rows of `checklists` and `links` name their card. */
export type Table = 'lanes' | 'lists' | 'labels' | 'people' | 'fields' | 'checklists' | 'links'

export const idOf = (row: Entry): string => row.text('_id|gid') ?? row.required('id')
export const nameOf = (row: Entry | undefined): string | undefined => row?.text('name|title')
/** Products show a label without a name as its color. */
const labelName = (label: Entry): string => label.text('name|title|color') ?? 'label'

/**
 * Returns `#rrggbb` for a name in the table, or for a color in hexadecimal digits.
 * @param table pairs such as `green 61bd4f, yellow f2d600`
 */
function colorOf(color: string | undefined, table: string): string | undefined {
  if (color === undefined) return undefined
  const pair = table.split(', ').find((one) => one.startsWith(`${color} `))
  const digits = pair?.split(' ')[1] ?? color.replace(/^#/, '')
  return /^[0-9a-f]{6}$/i.test(digits) ? `#${digits.toLowerCase()}` : undefined
}

/** Returns the person in a user of any product. */
function readPerson(user: Entry): ImportedPerson | undefined {
  const email = user.text('email')
  const name = user.text('login|fullName|profile.fullname|displayname|name|username|uid') ?? email
  return name === undefined ? undefined : { name, email }
}

export type FieldValue = [id: string, value: Json | undefined]

interface Field extends Pick<FieldItem, 'key' | 'name' | 'type'> {
  /** The names of options by their ids. */
  names: ReadonlyMap<string, string>
}
/** The types of custom fields in all products. Other types are texts. */
const fieldTypes = new Map<string, FieldItem['type']>([
  ...(['number', 'date'] as const).map((type) => [type, type] as const),
  ...['list', 'dropdown', 'enum'].map((type) => [type, 'choice'] as const),
  ['currency', 'number'],
  ['checkbox', 'boolean'],
])

/** The rows that cards refer to, and the items of labels and fields. */
export class Board {
  /** The items that were read and not taken yet. */
  readonly ready: ImportedItem[] = []
  /** The names or ids of the creators, by the ids of cards. */
  readonly creators = new KeyMap<string>()
  /** The numbers of comments in the file, by the keys of tasks. */
  readonly comments = new KeyMap<number>()
  private readonly counts: Partial<Record<Table, number>> = {}
  private readonly addCharacters = countCharacters('The lists, labels and links of the cards')
  private readonly byId = new Map<string, Entry>()
  private readonly byCard = new Map<string, Entry[]>()
  private readonly places = new Map<Entry | undefined, number>()
  private readonly fields = new KeyMap<Field>()
  private readonly fieldKeys = new FieldKeys()

  /** @param colors the names of the product's colors */
  constructor(private readonly colors = '') {}

  /** Adds a row, unless an earlier row of the table has its id. @throws ImportError above a limit */
  add(table: Table, row: Entry): void {
    const isOfCard = table === 'links' || table === 'checklists'
    if (table !== 'links' && this.find(table, idOf(row))) return
    const count = (this.counts[table] ?? 0) + 1
    this.counts[table] = count
    const max = isOfCard ? maxLinks : maxNames
    if (count > max) throw new ImportError(`The file has more than ${max.toLocaleString('en')} ${table}`)
    this.addCharacters(row.characters)
    if (table !== 'links') this.byId.set(`${table} ${idOf(row)}`, row)
    // Items may be inside their checklist.
    if (table === 'checklists') this.byId.set(`${table} ${row.path.join('.')}`, row)
    if (table === 'lists') this.places.set(row, count)
    if (table === 'labels') this.addLabel(row, count)
    if (table === 'fields') this.addField(row, count)
    // A board of Deck contains its labels and lists.
    for (const label of table === 'lanes' ? row.entries('labels') : []) this.add('labels', label)
    for (const stack of table === 'lanes' ? row.entries('stacks') : []) this.add('lists', stack)
    if (!isOfCard) return
    const key = `${table === 'links' ? row.path.at(-2) : table} ${row.text('cardId|idCard')}`
    const rows = this.byCard.get(key) ?? []
    rows.push(row)
    this.byCard.set(key, rows)
  }

  has(table: Table): boolean {
    return this.counts[table] !== undefined
  }

  find(table: Table, id: string | undefined): Entry | undefined {
    return id === undefined ? undefined : this.byId.get(`${table} ${id}`)
  }

  /** Returns the rows that belong to the card. @param list its key in the file, such as `attachments` */
  of(list: string, card: string): Entry[] {
    return this.byCard.get(`${list} ${card}`) ?? []
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
    for (const path of paths)
      for (const value of [row.get(path) ?? []].flat()) {
        const user = isObject(value) ? row.inside(path, value) : undefined
        const participant = user?.isSet('participant') ? this.people(user, ['participant'])[0] : undefined
        const person = user ? (participant ?? readPerson(user)) : this.personWith(row.asText(path, value))
        if (person) people.set(`${person.name} ${person.email}`, person)
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
    return label ? [labelName(label)] : this.has('labels') ? [] : [id]
  }

  private addLabel(label: Entry, row: number): void {
    const color = colorOf(label.text('color'), this.colors)
    this.ready.push({ kind: 'label', row, name: labelName(label), color })
  }

  private addField(field: Entry, row: number): void {
    const all = [...field.entries('options'), ...field.entries('settings.dropdownItems')]
    const options = all.map((one): [string, string] => [idOf(one), one.text('value.text|name') ?? ''])
    this.defineField(idOf(field), row, field.required('name'), field.text('type'), options)
  }

  /**
   * Adds a custom field, if it is new and the file has not too many.
   * @param row its number for the report
   * @param type in the product. Default: text
   */
  defineField(id: string, row: number, name: string, type = '', options: [id: string, name: string][] = []) {
    if (this.fields.get(id) || this.fields.size >= maxNames) return
    const field = { key: this.fieldKeys.keyFor(name, id), name, type: fieldTypes.get(type) ?? 'text' }
    this.fields.set(id, { ...field, names: new Map(options) })
    this.ready.push({ kind: 'field', row, ...field, options: options.map(([, option]) => option) })
  }

  /** Returns the values of a card by field, lines for values without a field, and messages for the report. */
  fieldValues(values: FieldValue[]) {
    const fields: Record<string, string | number | boolean> = {}
    const [lines, messages]: [string[], string[]] = [[], []]
    for (const [id, value] of values) {
      if (value === undefined || value === null || typeof value === 'object') continue
      const field = this.fields.get(id)
      if (!field) lines.push(`Custom field ${id}: ${value}`)
      else fields[field.key] = field.names.get(String(value)) ?? value
      if (field?.type === 'date' && /T(?!00:00:00)/.test(String(value)))
        messages.push(`The field "${field.name}" has only the date of ${value}`)
    }
    return { fields, lines, messages }
  }
}
