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

  get(key: string): Value | undefined {
    return this.values.get(digestKey(key))
  }

  /** @throws ImportError if the values that are texts have too many characters */
  set(key: string, value: Value): void {
    const previous = this.get(key)
    if (typeof value === 'string')
      this.characters += value.length - (typeof previous === 'string' ? previous.length : 0)
    this.values.set(digestKey(key), value)
    if (this.characters > maxKeptCharacters)
      throw new ImportError(
        `The ids of the rows have more than ${maxKeptCharacters.toLocaleString('en')} characters`,
      )
  }
}
