import '../../modules/modules.ts'
import postgres from 'postgres'
import { openChooseStatement, openCommit } from '../../src/commit/commit.ts'
import type { CommitUnit } from '../../src/commit/unit.ts'
import { isTransient, newId, nilId } from '../kit.ts'
import { newCommitCounts } from '../../src/metrics/counts.ts'
import { markUnknownOutcome, connectionError, toHttpError } from '../../src/postgres/errors.ts'
import { writeExactlyOnce } from '../../src/postgres/errors.ts'

const postgresError = (code: string, severity = 'ERROR') =>
  Object.assign(Object.create(postgres.PostgresError.prototype), { code, severity }) as Error

const now = ['08006', '25006', '25P03', '40001', '40P01', '53300', '55P03', '57014', '57P01', '57P03']
test.each(now)('SQLSTATE %s is transient', (code) => expect(isTransient(postgresError(code))).toBe(true))
test('only a statement timeout has a message of its own', () => {
  const messages = now.map((code) => toHttpError(postgresError(code))?.message)
  expect(messages).toEqual(
    now.map((code) =>
      code === '57014' ? 'The database took too long for a statement' : 'The database cannot be reached',
    ),
  )
})

const never = ['22P02', '23505', '23514', '40002', '42601', '42P01', 'XX000']
test.each(never)('SQLSTATE %s is permanent', (code) => expect(isTransient(postgresError(code))).toBe(false))

test('a FATAL error is transient, whatever its SQLSTATE', () => {
  for (const code of ['28P01', '3D000', 'XX000']) expect(isTransient(postgresError(code, 'FATAL'))).toBe(true)
})

test('errors of DNS, routing, TLS, sockets and time-outs are transient', () => {
  const codes = ['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNREFUSED', 'CERT_HAS_EXPIRED']
  for (const code of [...codes, 'CONNECT_TIMEOUT', 'ERR_SSL_WRONG_VERSION_NUMBER', undefined]) {
    const error = Object.assign(new Error('from the driver'), { code })
    expect(isTransient(error)).toBe(false)
    markUnknownOutcome(error)
    expect(isTransient(error)).toBe(true)
  }
  expect(isTransient(connectionError('QUERY_TIMEOUT', 'late'))).toBe(true)
})

test('programming errors are not transient', () => {
  const defects = [new TypeError('of undefined'), Object.assign(new Error('no'), { code: 'UNDEFINED_VALUE' })]
  for (const error of [...defects, postgresError('42601')]) {
    markUnknownOutcome(error)
    expect(isTransient(error)).toBe(false)
  }
  for (const other of [undefined, null, 'text', {}, new Error('ours')]) expect(isTransient(other)).toBe(false)
})

test('retries an unanswered write only if it was not committed', async () => {
  const attempt = async (isCommitted: boolean, error?: Error) => {
    let count = 0
    const write = async () => {
      if (++count === 1 && error) throw error
      return false
    }
    return [await writeExactlyOnce(write, async () => isCommitted).catch(() => 'rejected'), count]
  }
  const lost = connectionError('QUERY_TIMEOUT', 'late')
  expect(await attempt(true, lost)).toEqual([true, 1])
  expect(await attempt(false, lost)).toEqual([false, 2])
  expect(await attempt(true)).toEqual([false, 1])
  expect(await attempt(true, postgresError('23505'))).toEqual(['rejected', 1])
})

const unit = (): CommitUnit => {
  const head = { projectId: newId(), expected: 0, expectedEventId: nilId, version: 1, lastNumber: 0 }
  return {
    heads: [{ ...head, lastEventId: newId() }],
    events: [],
    jobs: [],
    records: [],
    deadline: Infinity,
    isSent: false,
  }
}

const poolsOf = (unsafe: () => Promise<unknown>) =>
  ({ commits: { unsafe }, commitsApart: { unsafe } }) as never

test('a commit without an answer has the outcome unknown', async () => {
  const outcomes = async (answer: () => Promise<unknown>) => {
    const counts = newCommitCounts()
    const limits = {
      commitSlots: 1,
      commitEvents: 10,
      commitProjects: 10,
      commitShapes: 10,
      writeTimeoutMs: 50,
      databasePooler: 'off',
    }
    const outcome = await openCommit(poolsOf(answer), limits, counts)(unit())
    return [outcome, counts.units]
  }
  const unknown = { won: 0, lost: 0, unknown: 1, refused: 0 }
  const broken = (isSent: boolean) => () => {
    const error = connectionError('CONNECTION_CLOSED', 'gone')
    markUnknownOutcome(error, isSent)
    return Promise.reject(error)
  }
  expect(await outcomes(broken(true))).toEqual(['unknown', unknown])
  expect(await outcomes(() => new Promise(() => {}))).toEqual(['unknown', unknown])
  const nothing = ['conflict' as const, { ...unknown, lost: 1, unknown: 0 }]
  expect(await outcomes(async () => [{ committed: null }])).toEqual(nothing)
  expect(await outcomes(broken(false))).toEqual(nothing)
  const fails = (code: string, severity: string) => {
    const error = postgresError(code, severity)
    markUnknownOutcome(error, true)
    return outcomes(() => Promise.reject(error))
  }
  for (const code of ['57014', '40P01', '53300', '25006']) expect(await fails(code, 'ERROR')).toEqual(nothing)
  // The first follows a commit that waits for a standby; a pooler that has lost the server sends the second.
  expect(await fails('57P01', 'FATAL')).toEqual(['unknown', unknown])
  expect(await fails('08P01', 'ERROR')).toEqual(['unknown', unknown])
})

test('a shape that recurs gets its own commit statement, in place of the least recently used one', () => {
  const choose = openChooseStatement(2)
  const shapeOf = (...writes: string[]) => ({ ...plain, writes })
  const plain = {
    spansProjects: false,
    hasNewProjects: false,
    skipsLocked: false,
    unlogged: false,
    jobs: false,
    records: false,
  }
  const [first, second, third] = [shapeOf('insert task'), shapeOf('update task'), shapeOf('insert comment')]
  const hasOwn = (shape: typeof first) => choose(shape).shape === shape
  expect([first, second, first].map(hasOwn)).toEqual([true, true, true])
  expect([third, first, third, third].map(hasOwn)).toEqual([false, true, true, true])
  expect([second, first, second].map(hasOwn)).toEqual([false, true, true])
  expect(choose(first).text).not.toBe(choose(second).text)
})

test('a unit whose deadline passes before its statement is never sent', async () => {
  const answers: (() => void)[] = []
  const unsafe = () => new Promise((resolve) => answers.push(() => resolve([{ committed: '0' }])))
  const limits = {
    commitSlots: 1,
    commitEvents: 10,
    commitProjects: 10,
    commitShapes: 10,
    databasePooler: 'off',
  } as const
  const commit = openCommit(poolsOf(unsafe), { ...limits, writeTimeoutMs: 60_000 })
  const [first, late] = [unit(), { ...unit(), deadline: performance.now() + 10 }]
  const firstOutcome = commit(first)
  while (answers.length === 0) await Bun.sleep(1)
  const outcomes = Promise.all([firstOutcome, commit(late)])
  while (performance.now() <= late.deadline) await Bun.sleep(5)
  expect([first.isSent, late.isSent, answers.length]).toEqual([true, false, 1])
  answers[0]!()
  expect(await outcomes).toEqual(['committed', 'conflict'])
  expect([late.isSent, answers.length]).toEqual([false, 1])
})
