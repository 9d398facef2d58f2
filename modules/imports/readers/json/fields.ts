import type { FieldItem } from '../../items.ts'
import { fieldKeyOf } from '../../plan/fields.ts'

/** A field of the type `date` keeps no time. Returns a line for the report. */
export const lostTime = ({ name, type }: FieldItem, value: unknown): string[] =>
  type === 'date' && /T(?!00:00:00)/.test(String(value))
    ? [`The field "${name}" has only the date of ${value}`]
    : []

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
