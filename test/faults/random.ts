/** Pseudorandom numbers: the same seed gives the same numbers. */
export class Random {
  constructor(private state: number) {}

  /** Returns a number from 0 (inclusive) to 1 (exclusive), by mulberry32. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let t = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  below(n: number): number {
    return Math.floor(this.next() * n)
  }

  between(from: number, to: number): number {
    return from + this.next() * (to - from)
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)]
  }

  weighted<K extends string>(weights: Record<K, number>): K {
    const entries = Object.entries(weights) as [K, number][]
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) if ((left -= weight) < 0) return name
    return entries[0]![0]
  }

  shuffled<T>(items: readonly T[]): T[] {
    const keyed = items.map((item) => ({ item, key: this.next() }))
    return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item)
  }
}
