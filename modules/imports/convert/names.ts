import { caseless, normalEmail, visualForm } from '../../../src/schema/text.ts'
import { CreateLabel } from '../../labels/schema.ts'
import { maxDescription } from '../../tasks/schema.ts'
import type { ImportedItem, ImportedPerson, LabelItem, ProjectItem, TaskItem } from '../items.ts'
import { type Mapping, valueFor } from '../mapping.ts'
import words from '../words.json' with { type: 'json' }
import { fieldKeyOf, type FieldSpec, fieldSpecOf, originOf } from './fields.ts'
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
  const byName = Map.groupBy(all, ({ name }) => visualForm(name))
  const byNameInAnyCase = Map.groupBy(all, ({ name }) => caseless(visualForm(name)))

  /** The only person of the project with this name, or with this name in another case. */
  function named(name: string): ProjectPerson | undefined {
    const same = byName.get(visualForm(name)) ?? byNameInAnyCase.get(caseless(visualForm(name)))
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
    const known = { ...proposed.people, ...given.people }
    const persons = [...this.people].flatMap((name): [string, string][] => {
      const person = valueFor(known, name) === undefined ? people.named(name) : undefined
      return person ? [[name, person.email]] : []
    })
    const lists = [...this.lists].filter((list) => list.length <= maxMappedCharacters)
    const ofLists = lists.map((list) => [list, statusOf(list, { statuses })])
    const byName = {
      statuses: { ...Object.fromEntries(ofLists), ...statuses },
      columns: { ...proposed.columns, ...given.columns },
      people: { ...Object.fromEntries(persons), ...known },
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
