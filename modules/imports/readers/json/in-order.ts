/** The most characters of items that are held back to sort them. */
const maxCharacters = 16_000_000

interface Held<T> {
  item: T
  order: (number | undefined)[]
}

/** Sorts items by their positions. Of a large file, it sorts the items in groups of 16 million characters. */
export class InOrder<T> {
  private held: Held<T>[] = []
  private characters = 0

  /**
   * @param order positions, the most significant first. Items without a position come last.
   * @returns the items to go on with
   */
  add(item: T, order: (number | undefined)[], characters: number): T[] {
    this.held.push({ item, order })
    this.characters += characters
    return this.characters > maxCharacters ? this.take() : []
  }

  take(): T[] {
    const items = this.held.sort(compare).map(({ item }) => item)
    this.held = []
    this.characters = 0
    return items
  }
}

function compare(one: Held<unknown>, other: Held<unknown>): number {
  for (const [n, position = Infinity] of one.order.entries()) {
    const against = other.order[n] ?? Infinity
    if (position !== against) return position < against ? -1 : 1
  }
  return 0
}
