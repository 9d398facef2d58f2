/** A map whose copy costs the same for every size: the copy stores only its changes, and reads the rest from its base. */
export class CopyOnWriteMap<V> {
  private readonly changes = new Map<string, V | null>()

  constructor(private readonly base?: CopyOnWriteMap<V>) {}

  /** Null for a value that is known to be absent, undefined if nothing is known. */
  get(key: string): V | null | undefined {
    const value = this.changes.get(key)
    return value === undefined && this.base ? this.base.get(key) : value
  }

  set(key: string, value: V | null): void {
    this.changes.set(key, value)
  }

  delete(key: string): void {
    if (this.base) this.changes.set(key, null)
    else this.changes.delete(key)
  }

  values(): V[] {
    return [...this.entries().values()].filter((value) => value !== null)
  }

  private entries(): Map<string, V | null> {
    return this.base ? new Map([...this.base.entries(), ...this.changes]) : this.changes
  }
}
