import postgres from 'postgres'
import { unavailable } from '../../../src/responses/errors.ts'
import { openRunSlice } from '../../../workers/imports/failures.ts'
import { openLog, SliceEnded } from '../../kit.ts'

const canceled = 'canceling statement due to statement timeout'
const statementTimeout = Object.assign(Object.create(postgres.PostgresError.prototype), {
  ...{ code: '57014', severity: 'ERROR', message: canceled },
})

test.each([
  [`57014: ${canceled}`, statementTimeout],
  ['Try later', unavailable('Try later')],
])(
  'a temporary error ends 60 slices in a row for 10 seconds, and then fails the attempt: %s',
  async (reason, error) => {
    const lines: Record<string, unknown>[] = []
    const runSlice = openRunSlice(
      openLog('info', null, { write: (line) => void lines.push(JSON.parse(line)) }),
    )
    const end = (thrown: unknown) =>
      runSlice('a', () => Promise.reject(thrown)).catch((caught: unknown) => caught)
    const fail = async (count: number) => {
      for (let n = 0; n < count; n++) expect(await end(error)).toMatchObject({ delayMs: 10_000, reason })
    }
    await fail(60)
    expect(lines).toHaveLength(60)
    expect(lines[0]).toMatchObject({ level: 40, importId: 'a', reason })
    expect(await end(error)).toBe(error)
    // A slice without such an error ends the row.
    await fail(59)
    expect(await end(new SliceEnded())).toMatchObject({ delayMs: 0, reason: undefined })
    await fail(60)
    const broken = new Error('broken')
    expect(await end(broken)).toBe(broken)
  },
)
