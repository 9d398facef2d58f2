import { ImportError } from '../../items.ts'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/**
 * An object of the file, such as a card. Methods take the path of a value, such as `data.card.id`, or several paths
 * with `|` between them: the first path with a value counts. Null and blank texts are no values. A value of another
 * type than expected ends the import.
 */
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

  get(paths: string): Json | undefined {
    for (const keys of keysOf(paths)) {
      let value: Json | undefined = this.value
      for (const key of keys) {
        if (value === undefined) break
        if (typeof value !== 'object') throw this.error(keys.join('.'), 'in an object')
        value = (value as Record<string, Json>)[key] ?? undefined
      }
      if (value !== undefined && !(typeof value === 'string' && value.trim() === '')) return value
    }
    return undefined
  }

  /** True for each value except false and 0. */
  isSet(paths: string): boolean {
    return Boolean(this.get(paths))
  }

  /** Returns a number, such as an id, as a text. */
  text(paths: string): string | undefined {
    const value = this.get(paths)
    return value === undefined ? undefined : this.asText(paths, value)
  }

  /** Returns a text that may be blank, but not missing. */
  required(key: string): string {
    return this.asText(key, this.value[key])
  }

  number(paths: string): number | undefined {
    const value = this.get(paths)
    if (value !== undefined && typeof value !== 'number') throw this.error(paths, 'a number')
    return value
  }

  /** Returns the objects of a list, or of an object whose keys are ids. */
  entries(path: string): Entry[] {
    return this.list(path).map(([key, value]) => this.inside(key, value))
  }

  /** Returns the paths and the values of a list, or of an object whose keys are ids. */
  list(path: string): [path: string, value: Json][] {
    const value = this.get(path) ?? []
    if (typeof value !== 'object') throw this.error(path, 'a list')
    return Object.entries(value).flatMap(([key, one]) =>
      one === null && isObject(value) ? [] : [[`${path}.${key}`, one as Json]],
    )
  }

  inside(path: string, value: Json): Entry {
    if (!isObject(value)) throw this.error(path, 'an object')
    return new Entry(this.part, [...this.path, path], value, this.row)
  }

  asText(path: string, value: Json | undefined): string {
    if (typeof value === 'number') return String(value)
    if (typeof value !== 'string') throw this.error(path, 'a text')
    return value
  }

  private error(key: string, expected: string): ImportError {
    const path = [...this.path, key].map((part) => String(part).slice(0, 100)).join('.')
    return new ImportError(`${path} must be ${expected}`)
  }
}

export const isObject = (value: Json | undefined): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Caches the keys of each path. The cache is small, because paths are constants of the code. */
const keysIn = new Map<string, string[][]>()

function keysOf(paths: string): string[][] {
  const keys = keysIn.get(paths) ?? paths.split('|').map((path) => path.split('.'))
  keysIn.set(paths, keys)
  return keys
}
