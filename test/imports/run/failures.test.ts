import postgres from 'postgres'
import { unavailable } from '../../../src/responses/errors.ts'
import { runSlice } from '../../../workers/imports/import-row.ts'

const postgresError = (code: string, message: string) =>
  Object.assign(Object.create(postgres.PostgresError.prototype), { code, severity: 'ERROR', message })

const ended = (error: unknown) => runSlice(() => Promise.reject(error)).catch((caught: unknown) => caught)

test('a temporary error ends the slice, and a statement timeout or another error fails the attempt', async () => {
  const isLater = (reason: string) => ({ delayMs: 1_000, reason })
  expect(await ended(unavailable('Try later'))).toMatchObject(isLater('Try later'))
  const full = postgresError('53100', 'disk full')
  expect(await ended(full)).toMatchObject(isLater('53100: disk full'))
  for (const error of [postgresError('57014', 'canceling statement'), new Error('broken')])
    expect(await ended(error)).toBe(error)
})
