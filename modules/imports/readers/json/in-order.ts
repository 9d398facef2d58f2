/** The most characters of the items in the buffer. */
const maxCharacters = 16_000_000

interface Buffered<T> {
  item: T
  order: (number | undefined)[]
}

/** Sorts items by their positions. Sorts a large file in groups of 16 million characters. */
export class InOrder<T> {
  private buffer: Buffered<T>[] = []
  private characters = 0

  /**
   * @param order positions, the most significant first. Items without a position come last.
   * @returns the sorted items when the buffer is full, else none
   */
  add(item: T, order: (number | undefined)[], characters: number): T[] {
    this.buffer.push({ item, order })
    this.characters += characters
    return this.characters > maxCharacters ? this.take() : []
  }

  take(): T[] {
    const items = this.buffer.sort(compare).map(({ item }) => item)
    this.buffer = []
    this.characters = 0
    return items
  }
}

function compare(one: Buffered<unknown>, other: Buffered<unknown>): number {
  for (const [n, position = Infinity] of one.order.entries()) {
    const against = other.order[n] ?? Infinity
    if (position !== against) return position < against ? -1 : 1
  }
  return 0
}
