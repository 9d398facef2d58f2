import { ImportError } from '../../items.ts'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** An object of the file, such as a card. A value of another type than expected ends the import. */
export class Entry {
  constructor(
    /** The pattern that selected the object. */
    readonly part: string,
    readonly path: (string | number)[],
    readonly value: Record<string, Json>,
    /** The number of the object among those of its pattern, from 1. Objects inside it have the same number. */
    readonly row: number,
    /** The approximate size of the object in memory. */
    readonly characters = 0,
  ) {}

  /** False for a null, and for an omitted value. */
  has(key: string): boolean {
    return (this.value[key] ?? undefined) !== undefined
  }

  /** Returns undefined for a blank text. A number, such as an id, is a text too. */
  text(key: string): string | undefined {
    const value = this.value[key] ?? undefined
    if (typeof value === 'number') return String(value)
    if (value !== undefined && typeof value !== 'string') throw this.error(key, 'a text')
    return value && /\S/.test(value) ? value : undefined
  }

  /** Returns a text that may be blank, but not missing. */
  required(key: string): string {
    const value = this.value[key]
    if (typeof value === 'number') return String(value)
    if (typeof value !== 'string') throw this.error(key, 'a text')
    return value
  }

  number(key: string): number | undefined {
    const value = this.value[key] ?? undefined
    if (value !== undefined && typeof value !== 'number') throw this.error(key, 'a number')
    return value
  }

  isTrue(key: string): boolean {
    return this.value[key] === true
  }

  texts(key: string): string[] {
    return this.list(key).map((value) => {
      if (typeof value === 'number') return String(value)
      if (typeof value !== 'string') throw this.error(key, 'a list of texts')
      return value
    })
  }

  entry(key: string): Entry | undefined {
    const value = this.value[key] ?? undefined
    if (value === undefined) return undefined
    if (!isObject(value)) throw this.error(key, 'an object')
    return new Entry(this.part, [...this.path, key], value, this.row)
  }

  entries(key: string): Entry[] {
    return this.list(key).map((value, n) => {
      if (!isObject(value)) throw this.error(key, 'a list of objects')
      return new Entry(this.part, [...this.path, key, n], value, this.row)
    })
  }

  /** Returns the objects of a list, or of an object whose keys are their ids. */
  children(key: string): Entry[] {
    const value = this.value[key] ?? []
    if (Array.isArray(value)) return this.entries(key)
    const children = new Entry(this.part, [...this.path, key], this.entry(key)!.value, this.row)
    return Object.keys(children.value).flatMap((id) => children.entry(id) ?? [])
  }

  /** Returns an entry for `value`, as if it were at the key. */
  with(key: string, value: Record<string, Json>): Entry {
    return new Entry(this.part, [...this.path, key], value, this.row)
  }

  private list(key: string): Json[] {
    const value = this.value[key] ?? []
    if (!Array.isArray(value)) throw this.error(key, 'a list')
    return value
  }

  private error(key: string, expected: string): ImportError {
    const path = [...this.path, key].map((part) => String(part).slice(0, 100)).join('.')
    return new ImportError(`${path} must be ${expected}`)
  }
}

const isObject = (value: Json): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
