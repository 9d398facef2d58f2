import { createHash } from 'node:crypto'
import { digestKey } from './keys.ts'

export const maxKeyCharacters = 40
const isKey = /^[a-z][a-z0-9_]{0,39}$/

/** Returns the key of the custom field for a key or a header of the file. */
export function fieldKeyOf(name: string): string {
  if (isKey.test(name)) return name
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
  /** The number for the next key with the same start. */
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
