import { digestKey } from '../convert/keys.ts'
import { ImportError } from '../items.ts'

/** The maximum number of lists, labels, members or custom fields. */
export const maxNames = 20_000
/** The maximum number of rows of a list that belongs to cards, such as the list of all cards' labels. */
export const maxLinks = 200_000
/** The maximum number of characters that a reader keeps in memory while it reads a file. */
const maxKeptCharacters = 32_000_000

/** Counts the characters of the `what` in memory. @throws ImportError above the limit */
export const countCharacters = (what: string) => {
  let characters = 0
  return (more: number): void => {
    characters += more
    if (characters > maxKeptCharacters)
      throw new ImportError(`${what} have more than ${maxKeptCharacters.toLocaleString('en')} characters`)
  }
}

/** A map from the ids or names of a file's rows. Long ones are replaced by digests. */
export class KeyMap<Value> {
  private readonly values = new Map<string, Value>()
  private readonly addCharacters = countCharacters('The ids of the rows')

  get size(): number {
    return this.values.size
  }

  get isFull(): boolean {
    return this.size >= maxLinks
  }

  get(key: string): Value | undefined {
    return this.values.get(digestKey(key))
  }

  /** @throws ImportError if the values that are texts have too many characters */
  set(key: string, value: Value): void {
    const previous = this.get(key)
    const lengthOf = (one: unknown) => (typeof one === 'string' ? one.length : 0)
    this.addCharacters(lengthOf(value) - lengthOf(previous))
    this.values.set(digestKey(key), value)
  }

  /** Sets a value, unless the key is new and the map is full. */
  setIfSpace(key: string, value: Value): void {
    if (!this.isFull || this.get(key) !== undefined) this.set(key, value)
  }
}
