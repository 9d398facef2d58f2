const max = { tasks: 1_000_000, number: 1_000_000_000 }

/** Collects the numbers of the tasks. The tasks have the order of the project. */
export class TaskOrder {
  private readonly numbers: number[] = []
  private isValid = true

  add(number: unknown): void {
    const isNumber = Number.isInteger(number) && Number(number) >= 1 && Number(number) <= max.number
    if (!isNumber || this.numbers.length === max.tasks) this.isValid = false
    if (this.isValid) this.numbers.push(Number(number))
  }

  /**
   * Returns for each task whether it was moved. Without the moved tasks, which are as few as possible, the numbers
   * increase. Undefined if a number is missing or occurs twice.
   */
  moved(): boolean[] | undefined {
    const sorted = Float64Array.from(this.numbers).sort()
    const isUnique = sorted.every((number, i) => number !== sorted[i + 1])
    return this.isValid && isUnique ? outOfOrder(this.numbers) : undefined
  }
}

/** True for the numbers that are not in a longest increasing subsequence. */
function outOfOrder(numbers: number[]): boolean[] {
  /** For each length, the index of the smallest number that ends an increasing subsequence. */
  const ends: number[] = []
  const previous = numbers.map((number, i) => {
    const length = firstIndex(ends.length, (n) => numbers[ends[n]!]! >= number)
    ends[length] = i
    return ends[length - 1] ?? -1
  })
  const moved = numbers.map(() => true)
  for (let i = ends.at(-1) ?? -1; i >= 0; i = previous[i]!) moved[i] = false
  return moved
}

/** The first index below `length` for which the condition is true, if it is true for all indexes after it. */
function firstIndex(length: number, isTrue: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isTrue(middle)) high = middle
    else low = middle + 1
  }
  return low
}
