import { Value } from '@sinclair/typebox/value'
import postgres from 'postgres'
import { isTransient, words } from '../kit.ts'
import { connectionError, markUnknownOutcome, mayBeWritten } from '../../src/postgres/errors.ts'
import { toHttpError, writeExactlyOnce } from '../../src/postgres/errors.ts'
import { undoProject } from '../../modules/undo/undo.ts'
import { validationError } from '../../src/schema/validation.ts'

const postgresError = (code: string, severity = 'ERROR') =>
  Object.assign(Object.create(postgres.PostgresError.prototype), { code, severity }) as Error
const withCode = (code?: string) => Object.assign(new Error('from the driver'), { code })

test.each<[string, (code: string) => Error, codes: string, transient: boolean]>([
  ['an SQLSTATE of outages', postgresError, '08006 25006 25P03 40001 40P01 53300 55P03 57P01 57P03', true],
  ['a statement timeout', postgresError, '57014', true],
  ['an SQLSTATE of defects', postgresError, '22P02 23505 23514 40002 42601 42P01 XX000', false],
  ['a FATAL error', (code) => postgresError(code, 'FATAL'), '28P01 3D000 XX000', true],
  [
    'an error of DNS, routing, TLS or sockets without a reply',
    withCode,
    'ENOTFOUND EAI_AGAIN EHOSTUNREACH ECONNREFUSED CERT_HAS_EXPIRED CONNECT_TIMEOUT ERR_SSL_WRONG_VERSION_NUMBER -',
    true,
  ],
  ['a defect', withCode, 'UNDEFINED_VALUE', false],
  ['a TypeError', (code) => new TypeError(code), 'undefined', false],
])('%s is temporary or permanent', (what, errorOf, codes, transient) => {
  for (const error of words(codes).map((code) => errorOf(code))) {
    const isReply = error instanceof postgres.PostgresError
    expect(isTransient(error)).toBe(isReply && transient)
    markUnknownOutcome(error)
    expect([error, isTransient(error)]).toEqual([error, transient])
    const message = what === 'a statement timeout' ? /took too long/ : /cannot be reached/
    if (transient) expect(toHttpError(error)?.message).toMatch(message)
    else expect(toHttpError(error)).toBeUndefined()
  }
})

test('a write that was sent may be written after an error without a reply, a FATAL error, or an error of a pooler', () => {
  const isUncertain = (error: Error, isSent = true) => {
    markUnknownOutcome(error, isSent)
    return mayBeWritten(error)
  }
  // FATAL may follow a commit that waits for a standby. A pooler that has lost the server sends 08P01.
  const uncertain = [withCode(), postgresError('57P01', 'FATAL'), postgresError('08P01')]
  expect(uncertain.filter((error) => !isUncertain(error))).toEqual([])
  expect(isUncertain(withCode(), false)).toBe(false)
  for (const code of words('57014 40P01 53300 25006')) expect(isUncertain(postgresError(code))).toBe(false)
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

test('an error of a list that is too long names no errors of its items', () => {
  const input = { id: 'p', seqs: Array(501).fill('one') }
  const { message } = validationError(Value.Errors(undoProject.input, input))
  expect(message).toBe('seqs must be a list of 1 to 500 different seqs of events')
})
