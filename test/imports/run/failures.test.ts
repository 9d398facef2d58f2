import postgres from 'postgres'
import { unavailable } from '../../../src/responses/errors.ts'
import { openFailures } from '../../../workers/imports/failures.ts'
import { openLog, SliceEnded } from '../../kit.ts'

const minuteMs = 60_000

function openClock() {
  const lines: Record<string, unknown>[] = []
  const log = openLog('info', null, { write: (line) => void lines.push(JSON.parse(line)) })
  const clock = { ms: 0 }
  const failures = openFailures(log, () => clock.ms)
  /** Returns the message or the error of a failure at a position of an import. */
  const fail = (error: unknown, step: 'tasks' | 'undo' | 'links' = 'tasks', n = 7): unknown => {
    try {
      return failures.messageOf({ id: 'a', cursor: { step, n } }, error)
    } catch (thrown) {
      return thrown
    }
  }
  return { clock, lines, failures, fail }
}

const canceled = 'canceling statement due to statement timeout'
const statementTimeout = (): Error =>
  Object.assign(Object.create(postgres.PostgresError.prototype), {
    ...{ code: '57014', severity: 'ERROR', message: canceled },
  })
const tooLong = 'could not continue: The database took too long for a statement'

test.each([
  ['tasks', `The import ${tooLong}`, `57014: ${canceled}`, statementTimeout()],
  ['undo', `The undo ${tooLong}`, `57014: ${canceled}`, statementTimeout()],
  ['links', 'The import could not continue: Try later', 'Try later', unavailable('Try later')],
] as const)(
  'in the step %s, a temporary error ends the slice for 10 minutes: %s',
  (step, message, reason, error) => {
    const { clock, lines, fail } = openClock()
    for (const minute of [0, 5, 10]) {
      clock.ms = minute * minuteMs
      expect(fail(error, step)).toMatchObject({ reason })
    }
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatchObject({ level: 40, importId: 'a', step, n: 7, reason })
    clock.ms++
    expect(fail(error, step)).toBe(message)
    // The 10 minutes begin again at each position.
    expect(fail(error, step, 8)).toBeInstanceOf(SliceEnded)
    clock.ms += 11 * minuteMs
    expect(fail(error, step, 8)).toBe(message)
  },
)

test('a temporary error outside of the steps ends the slice for 10 minutes, and then fails the attempt', async () => {
  const { clock, failures } = openClock()
  const [error, other] = [statementTimeout(), new Error('broken')]
  const slice = (thrown: unknown) =>
    failures.runSlice('a', () => Promise.reject(thrown)).catch((caught: unknown) => caught)
  for (const minute of [0, 10]) {
    clock.ms = minute * minuteMs
    expect(await slice(error)).toMatchObject({ delayMs: 1_000, reason: `57014: ${canceled}` })
  }
  clock.ms++
  expect([await slice(error), await slice(other)]).toEqual([error, other])
  // A slice that has begun ends the outage.
  expect(await slice(new SliceEnded())).toBeInstanceOf(SliceEnded)
  clock.ms += 11 * minuteMs
  expect(await slice(error)).toBeInstanceOf(SliceEnded)
})
