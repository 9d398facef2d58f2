/** Returns the number of cases of a property test: `count`, multiplied by TEST_DEPTH in `npm run test:all`. */
export const cases = (count: number): number => Math.ceil(count * Number(process.env.TEST_DEPTH ?? 1))
