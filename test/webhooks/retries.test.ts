import { expect, test } from 'bun:test'
import { afterFailure } from '../../workers/webhooks/retries.ts'

const failed = { failures: 1, failingMs: 0, status: 500, retryAfterMs: null }
const day = 86_400_000
const hour = 3_600_000
const waits = (chance: number) =>
  [1, 2, 3, 4, 5, 6, 7, 8, 50].map((failures) => afterFailure({ ...failed, failures }, chance))

test('it is tried again after ever longer times, with some chance in them', () => {
  const told = [5_000, 300_000, 1_800_000, 2 * hour, 5 * hour, 10 * hour, 10 * hour, 10 * hour, 10 * hour]
  expect(waits(0)).toEqual(told.map((waitMs) => ({ waitMs })))
  expect(waits(1)).toEqual(told.map((waitMs) => ({ waitMs: Math.round(waitMs * 1.1) })))
  const { waitMs } = afterFailure(failed) as { waitMs: number }
  expect(waitMs >= 5_000 && waitMs <= 5_500).toBe(true)
})

test('later where the receiver asks for it, and not later than the longest wait', () => {
  const after = (retryAfterMs: number, failures = 1) => afterFailure({ ...failed, failures, retryAfterMs }, 0)
  expect(after(90_000)).toEqual({ waitMs: 90_000 })
  expect(after(1_000)).toEqual({ waitMs: 5_000 })
  expect(after(100 * day)).toEqual({ waitMs: 10 * hour })
  expect(after(90_000, 2)).toEqual({ waitMs: 300_000 })
})

test('410 ends it, and five days of failures do: the last attempt is when they are over', () => {
  expect(afterFailure({ ...failed, status: 410 })).toEqual({ disabled: 'The receiver answered 410 Gone' })
  const at = (failingMs: number) => afterFailure({ ...failed, failures: 20, failingMs }, 0)
  expect(at(4 * day)).toEqual({ waitMs: 10 * hour })
  expect(at(5 * day - hour)).toEqual({ waitMs: hour })
  expect(at(5 * day)).toEqual({ disabled: 'All attempts of 5 days failed' })
})
