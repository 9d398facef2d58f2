const secondsBounds = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1],
  ...[0.25, 0.5, 1, 2.5, 5, 10, 30],
]

export class Distribution {
  readonly counts: Float64Array
  sum = 0

  constructor(readonly bounds: readonly number[] = secondsBounds) {
    this.counts = new Float64Array(bounds.length + 1)
  }

  get total(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  add(value: number): void {
    let at = 0
    while (value > this.bounds[at]!) at++
    this.counts[at]!++
    this.sum += value
  }

  addSince(startedAt: number): void {
    this.add((performance.now() - startedAt) / 1_000)
  }
}
