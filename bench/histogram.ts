const stepsPerDouble = 32
const most = 32 * stepsPerDouble

/** Durations counted in steps of about 2 %: as many as come, in a few kilobytes. */
export class Histogram {
  private readonly counts = new Uint32Array(most)
  total = 0

  add(micros: number): void {
    const step = Math.round(Math.log2(Math.max(1, micros)) * stepsPerDouble)
    const index = Math.min(most - 1, step)
    this.counts[index] = this.counts[index]! + 1
    this.total++
  }

  /** Microseconds that `percent` of the durations stay within; 0 when there are none. */
  percentile(percent: number): number {
    let left = Math.ceil((this.total * percent) / 100)
    if (left === 0) return 0
    for (let step = 0; step < most; step++) {
      left -= this.counts[step]!
      if (left <= 0) return 2 ** (step / stepsPerDouble)
    }
    return 2 ** (most / stepsPerDouble)
  }
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The value that `percent` of the values stay within. */
export function percentile(values: number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN
}
