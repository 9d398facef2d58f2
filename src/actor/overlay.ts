/**
 * A map that may lie over another one and leaves that as it is: what is set here hides what is there. To lay it over
 * costs the same however much there is.
 */
export class Overlay<V> {
  private readonly own = new Map<string, V | null>()

  constructor(private below: Overlay<V> | null = null) {}

  /** Null for what is known to be absent, undefined for what is not known. */
  get(key: string): V | null | undefined {
    const value = this.own.get(key)
    return value === undefined && this.below ? this.below.get(key) : value
  }

  set(key: string, value: V | null): void {
    this.own.set(key, value)
  }

  /** Takes a value away: in a map below it stays, and is hidden. */
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

  /** Knows nothing any more. A map below is no longer asked. */
  clear(): void {
    this.own.clear()
    this.below = null
  }
}
