/** Finds columns of texts such as the versions 1.1 and 1.10: as numbers, they would be equal. */
export class Decimals {
  private count: number | undefined
  private differ = false
  private endWithZero = false

  /** @param number a value of the column. @returns true if the values so far may be texts that only look like numbers */
  add(number: string): boolean {
    const decimals = /\.(\d+)/.exec(number)?.[1] ?? ''
    this.differ ||= this.count !== undefined && this.count !== decimals.length
    this.endWithZero ||= decimals.endsWith('0')
    this.count = decimals.length
    return this.differ && this.endWithZero
  }
}
