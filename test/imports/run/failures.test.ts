import postgres from 'postgres'
import { openLog, SliceEnded } from '../../kit.ts'
import { unavailable } from '../../../src/responses/errors.ts'
import { openFailures } from '../../../workers/imports/failures.ts'

const minuteMs = 60_000

function openClock() {
  const lines: Record<string, unknown>[] = []
  const log = openLog('info', null, { write: (line) => void lines.push(JSON.parse(line)) })
  const clock = { ms: 0 }
  return { clock, lines, failures: openFailures(log, () => clock.ms) }
}

const canceled = 'canceling statement due to statement timeout'
const statementTimeout = (): Error =>
  Object.assign(Object.create(postgres.PostgresError.prototype), {
    ...{ code: '57014', severity: 'ERROR', message: canceled },
  })

const errorOf = (work: () => unknown) => {
  try {
    return work()
  } catch (error) {
    return error
  }
}

test.each([
  ['tasks', 'The import could not continue: The database took too long for a statement', statementTimeout()],
  ['undo', 'The undo could not continue: The database took too long for a statement', statementTimeout()],
  ['links', 'The import could not continue: Try later', unavailable('Try later')],
] as const)('in the step %s, a temporary error ends the slice for 10 minutes: %s', (step, message, error) => {
  const { clock, lines, failures } = openClock()
  const position = { id: 'a', cursor: { step, n: 7 } }
  for (const minute of [0, 5, 10]) {
    clock.ms = minute * minuteMs
    expect(errorOf(() => failures.messageOf(position, error))).toBeInstanceOf(SliceEnded)
  }
  expect(lines).toHaveLength(3)
  const reason = error instanceof postgres.PostgresError ? `57014: ${error.message}` : error.message
  expect(lines[0]).toMatchObject({ level: 40, importId: 'a', step, n: 7, reason })
  expect(errorOf(() => failures.messageOf(position, error))).toMatchObject({ reason })
  clock.ms++
  expect(errorOf(() => failures.messageOf(position, error))).toBe(message)
})

test('the 10 minutes begin again at each position', () => {
  const { clock, failures } = openClock()
  const stop = (n: number) =>
    errorOf(() => failures.messageOf({ id: 'a', cursor: { step: 'tasks', n } }, statementTimeout()))
  for (const n of [1, 2, 3]) {
    expect(stop(n)).toBeInstanceOf(SliceEnded)
    clock.ms += 11 * minuteMs
  }
  expect(stop(3)).toBeString()
})

test('a temporary error outside of the steps ends the slice for 10 minutes, and then fails the attempt', async () => {
  const { clock, lines, failures } = openClock()
  const [error, other] = [statementTimeout(), new Error('broken')]
  const slice = (thrown: unknown) =>
    failures.runSlice('a', () => Promise.reject(thrown)).catch((caught: unknown) => caught)
  for (const minute of [0, 10]) {
    clock.ms = minute * minuteMs
    expect(await slice(error)).toMatchObject({ delayMs: 1_000, reason: `57014: ${canceled}` })
  }
  expect(lines[0]).toMatchObject({ level: 40, importId: 'a', reason: `57014: ${canceled}` })
  clock.ms++
  expect(await slice(error)).toBe(error)
  expect(await slice(other)).toBe(other)
  // A slice that has begun ends the outage.
  expect(await slice(error)).toBeInstanceOf(SliceEnded)
  expect(await slice(new SliceEnded())).toBeInstanceOf(SliceEnded)
  clock.ms += 11 * minuteMs
  expect(await slice(error)).toBeInstanceOf(SliceEnded)
})
