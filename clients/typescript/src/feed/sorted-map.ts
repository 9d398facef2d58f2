/** A map whose iterators return the entries in the order of their keys. */
export class SortedMap<Value> extends Map<string, Value> {
  #last = ''
  #isSorted = true

  override set(key: string, value: Value): this {
    if (key > this.#last) this.#last = key
    else if (!this.has(key)) this.#isSorted = false
    return super.set(key, value)
  }

  override entries(): MapIterator<[string, Value]> {
    this.#sort()
    return super.entries()
  }

  override keys(): MapIterator<string> {
    this.#sort()
    return super.keys()
  }

  override values(): MapIterator<Value> {
    this.#sort()
    return super.values()
  }

  override [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries()
  }

  override forEach(visit: (value: Value, key: string, map: Map<string, Value>) => void): void {
    for (const [key, value] of this) visit(value, key, this)
  }

  /** Sorts the map only if a key was added out of order. Ids of new tasks ascend, so this is rare. */
  #sort(): void {
    if (this.#isSorted) return
    this.#isSorted = true
    const entries = [...super.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
    super.clear()
    for (const [key, value] of entries) super.set(key, value)
  }
}
