/** Returns the number of cases for a property test: `count` times TEST_DEPTH, which `npm run test:all` sets. */
export const cases = (count: number): number => Math.ceil(count * Number(process.env.TEST_DEPTH ?? 1))
