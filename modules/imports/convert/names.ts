import { createHash } from 'node:crypto'
import { Value } from '@sinclair/typebox/value'
import { caseless, normalEmail, parseInstant, visualForm } from '../../../src/schema/input.ts'
import { CreateField, isKey } from '../../fields/schema.ts'
import { CreateLabel } from '../../labels/schema.ts'
import { maxDescription } from '../../tasks/schema.ts'
import type { FieldItem, ImportedItem, ImportedPerson, LabelItem, ProjectItem, TaskItem } from '../items.ts'
import { type Mapping, valueFor } from '../mapping.ts'
import words from '../words.json' with { type: 'json' }
import { digestKey } from './keys.ts'
import { byWord, cut, nameIn } from './texts.ts'

type Status = NonNullable<TaskItem['status']>

/** The names are as `lettersOf` returns them. */
const knownStatus = byWord<Status>(words.statuses, true)
const isDropped = byWord(words.dropped, true)

/** A number at the start, as in `2. In progress`, only orders the lists. */
const lettersOf = (list: string): string =>
  caseless(list)
    .replace(/^\P{L}+/u, '')
    .replace(/[^\p{L}\p{N}]+/gu, '')

/** Returns the status of tasks in a list that becomes a label. */
export const statusOfLabel = (list: string): Status => (isDropped(lettersOf(list)) ? 'DONE' : 'TODO')

/** Returns the status of a list's tasks; null if the list becomes a label. */
export function statusOf(list: string, { statuses }: Mapping): Status | null {
  const given = valueFor(statuses, list)
  return given === undefined ? (knownStatus(lettersOf(list)) ?? null) : given
}

/** The owner or a member of the project. */
export interface ProjectPerson {
  id: string
  name: string
  email: string
}

export type People = ReturnType<typeof openPeople>

/** Returns functions that find the accounts of people in a file among the people of the project. */
export function openPeople(all: ProjectPerson[], mapping: Mapping) {
  const byEmail = new Map(all.map((one) => [normalEmail(one.email), one]))
  const byName = Map.groupBy(all, ({ name }) => caseless(visualForm(name)))

  /** The only person of the project with this name, in any case. */
  function named(name: string): ProjectPerson | undefined {
    const same = byName.get(caseless(visualForm(name)))
    return same?.length === 1 ? same[0] : undefined
  }

  function find({ name, email: own }: ImportedPerson): ProjectPerson | undefined {
    const email = valueFor(mapping.people, name) ?? own
    return email === undefined ? named(name) : byEmail.get(normalEmail(email))
  }

  return { named, find }
}

/** Returns `Ada <ada@example.com>`, or only the name or the address. */
export const textOfPerson = ({ name, email = '' }: ImportedPerson): string =>
  name && email && name !== email ? `${name} <${email}>` : name || email

export const maxKeyCharacters = 40
const { options: Options } = CreateField.properties

/** Returns the key of the custom field for a key or a header of the file. */
export function fieldKeyOf(name: string): string {
  if (isKey(name)) return name
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
  const key = words.replace(/^[_0-9]+|_+$/g, '').slice(0, maxKeyCharacters)
  return key || `f_${createHash('sha256').update(name.normalize()).digest('hex').slice(0, 8)}`
}

/** Assigns unique keys to the fields of a file: different names may lead to the same key. */
export class FieldKeys {
  private readonly keys = new Map<string, string>()
  private readonly used = new Set<string>()
  /** The next number to append to a key, by the start of the key. */
  private readonly numbers = new Map<string, number>()

  /** Returns the same key for the same id, and different keys for different ids. */
  keyFor(name: string, id = name): string {
    const known = this.keys.get(digestKey(id))
    if (known) return known
    const key = fieldKeyOf(name)
    const start = key.slice(0, maxKeyCharacters - 6)
    let n = this.numbers.get(start) ?? 2
    let unique = key
    for (; this.used.has(unique); n++) unique = `${start}_${n}`
    this.numbers.set(start, n)
    this.used.add(unique)
    this.keys.set(digestKey(id), unique)
    return unique
  }
}

export interface FieldSpec extends Pick<FieldItem, 'key' | 'name' | 'type' | 'createdAt'> {
  options?: string[] | null
}

export const maxFieldName = 100

/** The time of creation; empty if the text is no time. */
export function originOf(createdAt = ''): { createdAt?: string } {
  const instant = parseInstant(createdAt)
  return instant ? { createdAt: instant } : {}
}

/** Returns a field with a valid key and name. A choice field with invalid options becomes a text field. */
export function fieldSpecOf({ key, name, type, options, createdAt }: FieldSpec): FieldSpec {
  const fieldKey = fieldKeyOf(key)
  const known = { key: fieldKey, name: nameIn(name, maxFieldName) ?? fieldKey, ...originOf(createdAt) }
  if (type !== 'choice') return { ...known, type }
  const all = [...new Set(options?.map((one) => one.trim()))]
  return Value.Check(Options, all) ? { ...known, type, options: all } : { ...known, type: 'text' }
}

/** The proposed mapping omits further names. Further labels and fields become lines of descriptions. */
const max = { lists: 1_000, labels: 1_000, fields: 100, people: 1_000 }
/** The proposed mapping omits longer names. */
export const maxMappedCharacters = 500
export const maxLabelName = CreateLabel.properties.name.maxLength as number

export type LabelSpec = Pick<LabelItem, 'name' | 'color' | 'createdAt'>

/** Collects the names in a file while its items are read. */
export class NamesInFile {
  private readonly lists = new Set<string>()
  private readonly labels = new Map<string, LabelSpec>()
  readonly fields = new Map<string, FieldSpec>()
  private readonly people = new Set<string>()
  readonly project: Pick<ProjectItem, 'description' | 'textEdits'> = {}

  add(item: ImportedItem): void {
    if (item.kind === 'project') {
      if (item.description) this.project.description = cut(item.description, maxDescription)
      if (item.textEdits) this.project.textEdits = item.textEdits
    } else if (item.kind === 'label') this.addLabel(item)
    else if (item.kind === 'field') this.addField(fieldSpecOf(item))
    else {
      const { author, assignee, list, labels = [], fields = {} } = item as Partial<TaskItem>
      // One character more than the mapping accepts: the list is then not mapped, but can become a label, whose name is
      // cut to a shorter length.
      if (list && this.lists.size < max.lists) this.lists.add(list.slice(0, maxMappedCharacters + 1))
      for (const name of labels) this.addLabel({ name })
      for (const key in fields)
        if (!this.fields.has(fieldKeyOf(key))) this.addField(fieldSpecOf({ key, name: key, type: 'text' }))
      for (const person of [author, assignee]) if (person) this.addPerson(person)
    }
  }

  /** Returns the given mapping, completed with the reader's proposal and the names in the file. */
  mapping(given: Mapping, proposed: Mapping, people: People): Mapping {
    const statuses = { ...proposed.statuses, ...given.statuses }
    const persons = [...this.people].flatMap((name): [string, string][] => {
      const person = valueFor(given.people, name) === undefined ? people.named(name) : undefined
      return person ? [[name, person.email]] : []
    })
    const lists = [...this.lists].filter((list) => list.length <= maxMappedCharacters)
    const ofLists = lists.map((list) => [list, statusOf(list, { statuses })])
    const byName = {
      statuses: { ...Object.fromEntries(ofLists), ...statuses },
      columns: { ...proposed.columns, ...given.columns },
      people: { ...Object.fromEntries(persons), ...given.people },
    }
    const isKept = ([, values]: [string, object]) => Object.keys(values).length > 0
    return { ...proposed, ...given, ...Object.fromEntries(Object.entries(byName).filter(isKept)) }
  }

  /** Returns the labels of tasks, and the lists that become labels. */
  allLabels(mapping: Mapping): ReadonlyMap<string, LabelSpec> {
    for (const name of this.lists) if (statusOf(name, mapping) === null) this.addLabel({ name })
    return this.labels
  }

  private addLabel({ name, color, createdAt }: LabelSpec): void {
    const label = nameIn(name, maxLabelName)
    if (label === undefined) return
    const key = caseless(label)
    const before = this.labels.get(key)
    if (before ? before.color || !color : this.labels.size >= max.labels) return
    this.labels.set(key, { ...(before ?? { name: label, ...originOf(createdAt) }), ...(color && { color }) })
  }

  private addField(field: FieldSpec): void {
    if (this.fields.has(field.key) || this.fields.size < max.fields) this.fields.set(field.key, field)
  }

  private addPerson({ name, email }: ImportedPerson): void {
    if (!email && name.length <= maxMappedCharacters && this.people.size < max.people) this.people.add(name)
  }
}
