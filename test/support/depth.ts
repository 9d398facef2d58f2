/** How many cases a property test tries: `count` in `npm test`, `TEST_DEPTH` times as many in `npm run test:all`. */
export const cases = (count: number): number => Math.ceil(count * Number(process.env.TEST_DEPTH ?? 1))
