import { digestKey } from '../convert/keys.ts'
import { ImportError } from '../items.ts'
import { maxKeptCharacters } from './json/json-file.ts'

/** A map from the ids or names of a file's rows. Long ones are replaced by digests. */
export class KeyMap<Value> {
  private readonly values = new Map<string, Value>()
  private characters = 0

  get size(): number {
    return this.values.size
  }

  has(key: string): boolean {
    return this.values.has(digestKey(key))
  }

  get(key: string): Value | undefined {
    return this.values.get(digestKey(key))
  }

  /** @throws ImportError if the values that are texts have too many characters */
  set(key: string, value: Value): void {
    this.values.set(digestKey(key), value)
    if (typeof value === 'string') this.characters += value.length
    if (this.characters > maxKeptCharacters)
      throw new ImportError(
        `The ids of the rows have more than ${maxKeptCharacters.toLocaleString('en')} characters`,
      )
  }
}
