import { FieldKeys } from '../../convert/names.ts'
import { type FieldItem, ImportError, type ImportedItem, type ImportedPerson } from '../../items.ts'
import { Entry, isObject, type Json, textOf } from '../json-file.ts'
import { KeyMap } from '../../convert/keys.ts'
import products from './products.json' with { type: 'json' }

/** The lists that cards refer to. Rows of `checklists` and `links` name their card. */
export type Table = 'lanes' | 'lists' | 'labels' | 'people' | 'creations' | 'fields' | 'checklists' | 'links'

/** The maximum number of rows of all tables. */
const maxRows = 300_000
/** Longer texts, such as the bytes of an attachment, are not kept. */
const maxTextCharacters = 10_000

export const idOf = (row: Entry): string => row.required('_id|gid|id')
export const nameOf = (row: Entry | undefined): string | undefined => row?.text('name|title')
/** Products show a label without a name as its color. */
const labelName = (label: Entry): string => label.text('name|title|color') ?? 'label'

/** Returns the person in a user of any product. */
function readPerson(user: Entry): ImportedPerson | undefined {
  const email = user.text('email|participant.email')
  const names = 'login|fullName|profile.fullname|displayname|participant.displayname|name|username|uid'
  const name = user.text(`${names}|participant.uid|participant`) ?? email
  return name === undefined ? undefined : { name, email }
}

export type FieldValue = [id: string, value: Json | undefined]

/** The types of custom fields in all products. Other types are texts. */
const fieldTypes = new Map(Object.entries(products.keys.fieldTypes as Record<string, FieldItem['type']>))

/** The rows that cards refer to, and the items of labels and fields. */
export class Board {
  /** The items that were read and not taken yet. */
  readonly ready: ImportedItem[] = []
  /** The number of rows of each table. */
  private readonly counts = new Map<Table, number>()
  private total = 0
  private readonly rows = new KeyMap<Entry>()
  private readonly byCard = new KeyMap<Entry[]>()
  /** The keys of fields, and the names of their options by the ids of the options. */
  private readonly fields = new KeyMap<{ key: string; names: ReadonlyMap<string, string> }>()
  private readonly fieldKeys = new FieldKeys()

  /** @param colors `rrggbb` by the product's names of colors */
  constructor(private readonly colors: Record<string, string> = {}) {}

  /** Adds a row, unless an earlier row of the table has its id. @throws ImportError above a limit */
  add(table: Table, { part, path, value, row: n }: Entry): void {
    const json = JSON.stringify(value, (_, one) =>
      typeof one === 'string' && one.length > maxTextCharacters ? undefined : one,
    )
    const row = new Entry(part, path, JSON.parse(json), n)
    if (table !== 'links' && this.find(table, idOf(row))) return
    if (++this.total > maxRows)
      throw new ImportError(`The lists of the cards have more than ${maxRows.toLocaleString('en')} rows`)
    this.counts.set(table, (this.counts.get(table) ?? 0) + 1)
    if (table !== 'links') this.rows.set(`${table} ${idOf(row)}`, row, json.length)
    if (table === 'labels') this.addLabel(row)
    if (table === 'fields') this.addField(row)
    if (table !== 'links' && table !== 'checklists') return
    // Items may be inside their checklist.
    if (table === 'checklists') this.rows.set(`${table} ${path}`, row)
    const list = table === 'links' ? part.split('.').at(-2) : table
    const key = `${list} ${row.text('cardId|idCard')}`
    const rows = this.byCard.get(key) ?? []
    rows.push(row)
    this.byCard.set(key, rows, json.length)
  }

  has(table: Table): boolean {
    return this.counts.has(table)
  }

  find(table: Table, id: string | undefined): Entry | undefined {
    return id === undefined ? undefined : this.rows.get(`${table} ${id}`)
  }

  /** Returns the rows that belong to the card. @param list its key in the file, such as `attachments` */
  of(list: string, card: string): Entry[] {
    return this.byCard.get(`${list} ${card}`) ?? []
  }

  /** Returns the name of a lane, if there are several. */
  laneOf(id: string | undefined): string | undefined {
    return this.counts.get('lanes')! > 1 ? nameOf(this.find('lanes', id)) : undefined
  }

  /**
   * Returns the people at these paths. A value is a user, an id, or a list of users or ids. The name is the id if the file
   * does not contain the user.
   */
  people(row: Entry, paths: string[]): ImportedPerson[] {
    const people = new Map<string, ImportedPerson>()
    for (const value of paths.flatMap((path) => row.get(path) ?? [])) {
      const user = isObject(value) ? row.inside(value) : this.find('people', textOf(value))
      const person = (user && readPerson(user)) ?? (isObject(value) ? undefined : { name: textOf(value) })
      if (person) people.set(`${person.name} ${person.email}`, person)
    }
    return [...people.values()]
  }

  /**
   * Returns the names of labels: ids, names or objects. Adds the colors of objects. Returns no name for an unknown id.
   * Without a list of labels in the file, the id is the name.
   */
  labelNames(row: Entry, labels: Json[]): string[] {
    return labels.flatMap((value) => {
      const label = isObject(value) ? row.inside(value) : this.find('labels', textOf(value))
      if (!label) return this.has('labels') ? [] : textOf(value)
      if (isObject(value) && label.isSet('color')) this.addLabel(label)
      return labelName(label)
    })
  }

  private addLabel(label: Entry): void {
    const color = label.text('color') ?? ''
    const digits = Object.hasOwn(this.colors, color) ? this.colors[color]! : color.replace(/^#/, '')
    const known = /^[0-9a-f]{6}$/i.test(digits) ? `#${digits.toLowerCase()}` : undefined
    this.ready.push({ kind: 'label', name: labelName(label), color: known })
  }

  private addField(field: Entry): void {
    const all = [...field.entries('options'), ...field.entries('settings.dropdownItems')]
    const options = all.map((one): [string, string] => [idOf(one), one.text('value.text|name') ?? ''])
    this.defineField(idOf(field), field.required('name'), field.text('type'), options)
  }

  /** Adds a custom field, if it is new. @param type in the product. Default: text */
  defineField(id: string, name: string, type = '', options: [id: string, name: string][] = []) {
    if (this.fields.get(id)) return
    const key = this.fieldKeys.keyFor(name, id)
    this.fields.set(id, { key, names: new Map(options) })
    const shown = { key, name, type: fieldTypes.get(type) ?? 'text' }
    this.ready.push({ kind: 'field', ...shown, options: options.map(([, option]) => option) })
  }

  /** Returns the values of a card by field, and lines for values without a field. */
  fieldValues(values: FieldValue[]) {
    const fields: Record<string, string | number | boolean> = {}
    const lines: string[] = []
    for (const [id, value] of values) {
      if (value === undefined || value === null || typeof value === 'object') continue
      const field = this.fields.get(id)
      if (!field) lines.push(`Custom field ${id}: ${value}`)
      else fields[field.key] = field.names.get(String(value)) ?? value
    }
    return { fields, lines }
  }
}
