/** A map whose copy costs the same for every size: the copy stores only its own changes and reads the rest from its base. */
export class CopyOnWriteMap<V> {
  private readonly own = new Map<string, V | null>()

  constructor(private below: CopyOnWriteMap<V> | null = null) {}

  /** Null for a value that is known to be absent, undefined if nothing is known. */
  get(key: string): V | null | undefined {
    const value = this.own.get(key)
    return value === undefined && this.below ? this.below.get(key) : value
  }

  set(key: string, value: V | null): void {
    this.own.set(key, value)
  }

  delete(key: string): void {
    if (this.below) this.own.set(key, null)
    else this.own.delete(key)
  }

  values(): V[] {
    return [...this.entries().values()].filter((value) => value !== null)
  }

  private entries(): Map<string, V | null> {
    return this.below ? new Map([...this.below.entries(), ...this.own]) : this.own
  }

  /** Removes everything, also the values of the base. */
  clear(): void {
    this.own.clear()
    this.below = null
  }
}
