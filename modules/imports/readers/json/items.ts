import { fieldKeyOf } from '../../plan/fields.ts'
import type { FieldItem, ImportedPerson } from '../../items.ts'
import type { Entry } from './entry.ts'

/** Returns the item without absent and empty parts. */
export const itemOf = <T extends object>(parts: T): T =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => !isEmpty(value))) as T

const isEmpty = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) ? value.length === 0 : isEmptyObject(value))
const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

/** Returns a line for the foot of the description, or nothing without a value. */
export const note = (name: string, value: string | number | undefined): string[] =>
  value === undefined || value === '' ? [] : [`${name}: ${value}`]

export const namesNote = (name: string, people: ImportedPerson[]): string[] =>
  note(name, people.map((person) => person.name).join(', '))

export const attachmentNote = (name: string | undefined, url: string | undefined): string[] =>
  note('Attachment', name && url && name !== url ? `${name} (${url})` : (name ?? url))

/** A task has one assignee: the first. */
export const assigneesOf = ([assignee, ...others]: ImportedPerson[]) => ({
  assignee,
  others: namesNote('Also assigned', others),
})

/** A field of the type `date` keeps no time. Returns a line for the report. */
export const lostTime = ({ name, type }: FieldItem, value: unknown): string[] =>
  type === 'date' && /T(?!00:00:00)/.test(String(value)) ? [`${name}: only the date of ${value} is kept`] : []

/** Several names may give the same key. */
export class FieldKeys {
  private readonly keys = new Set<string>()

  keyFor(name: string): string {
    const key = fieldKeyOf(name)
    let unique = key
    for (let n = 2; this.keys.has(unique); n++) unique = `${key.slice(0, 34)}_${n}`
    this.keys.add(unique)
    return unique
  }
}

/** A custom field, and the names of its options by their ids. */
export interface CustomField {
  item: FieldItem
  options: ReadonlyMap<string, string>
}

export const isoTime = (milliseconds: number): string | undefined =>
  Number.isFinite(milliseconds) && Math.abs(milliseconds) <= 8.64e15
    ? new Date(milliseconds).toISOString()
    : undefined

export function groupBy(entries: Entry[], key: string): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const id = entry.text(key)
    if (id === undefined) continue
    const group = groups.get(id)
    if (group) group.push(entry)
    else groups.set(id, [entry])
  }
  return groups
}
