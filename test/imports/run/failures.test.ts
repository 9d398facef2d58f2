import postgres from 'postgres'
import { unavailable } from '../../../src/responses/errors.ts'
import { openRunSlice } from '../../../workers/imports/import-row.ts'
import { SliceEnded } from '../../kit.ts'

const canceled = 'canceling statement due to statement timeout'
const statementTimeout = Object.assign(Object.create(postgres.PostgresError.prototype), {
  ...{ code: '57014', severity: 'ERROR', message: canceled },
})

test.each([
  [`57014: ${canceled}`, statementTimeout],
  ['Try later', unavailable('Try later')],
])(
  'a temporary error ends the slices of 10 minutes, and then fails the attempt: %s',
  async (reason, error) => {
    const clock = { ms: 0 }
    const runSlice = openRunSlice(() => clock.ms)
    const endAfter = (minutes: number, thrown: unknown) => {
      clock.ms += minutes * 60_000
      return runSlice('a', () => Promise.reject(thrown)).catch((caught: unknown) => caught)
    }
    const isLater = { delayMs: 1_000, reason }
    for (const minutes of [0, 5, 5]) expect(await endAfter(minutes, error)).toMatchObject(isLater)
    expect(await endAfter(1, error)).toBe(error)
    // The 10 minutes begin again after a slice that ends otherwise.
    for (const other of [new SliceEnded(), new Error('broken')]) {
      expect(await endAfter(0, error)).toMatchObject(isLater)
      expect(await endAfter(11, other)).toBe(other)
    }
    expect(await endAfter(0, error)).toMatchObject(isLater)
  },
)
