/** Returns the number of cases for a property test: `count` times TEST_DEPTH, which `npm run test:all` sets. */
export const cases = (count: number): number => Math.ceil(count * Number(process.env.TEST_DEPTH ?? 1))

const sampleEvery = 3

/** Returns a third of the items, another third for each `n`. With TEST_DEPTH, returns all items. */
export const sampleOf = <T>(items: T[], n: number): T[] =>
  cases(1) > 1 ? items : items.filter((_, i) => (i + n) % sampleEvery === 0)
