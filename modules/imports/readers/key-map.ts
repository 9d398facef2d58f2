import { digestKey } from '../convert/keys.ts'
import { ImportError } from '../items.ts'

/** The maximum number of rows that belong to cards, of links between issues, and of people. */
export const maxLinks = 200_000
/** The maximum number of characters that a map keeps in memory while a file is read. */
const maxKeptCharacters = 32_000_000

/** A map from the ids or names of a file's rows. Long ones are replaced by digests. */
export class KeyMap<Value> {
  private readonly values = new Map<string, Value>()
  private characters = 0

  get(key: string): Value | undefined {
    return this.values.get(digestKey(key))
  }

  /** @param characters of the value @throws ImportError if the values have too many characters */
  set(key: string, value: Value, characters = typeof value === 'string' ? value.length : 0): void {
    this.characters += characters
    const max = maxKeptCharacters.toLocaleString('en')
    if (this.characters > maxKeptCharacters)
      throw new ImportError(`The names and links in the file have more than ${max} characters`)
    this.values.set(digestKey(key), value)
  }

  /** Sets a value, unless the key is new and the map is full. */
  setIfSpace(key: string, value: Value): void {
    if (this.values.size < maxLinks || this.get(key) !== undefined) this.set(key, value)
  }
}
