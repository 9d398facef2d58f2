import { DeliveryQueues, afterFailure } from '../../workers/webhooks/dispatcher.ts'

const ids = (from: number, count: number) => Array.from({ length: count }, (_, n) => `hook-${from + n}`)
const waitAll = (queues: DeliveryQueues, all: string[]) => all.forEach((id) => queues.add(id))

test('after a slow or failed delivery, a webhook uses the slow queue until one of its deliveries is fast', () => {
  const queues = new DeliveryQueues(1)
  const [bad, good] = ['bad', 'good']
  queues.recordSpeed(bad, false)
  waitAll(queues, [bad, good])
  expect(queues.startNext().sort()).toEqual([bad, good])
  for (const id of [bad, good]) queues.finish(id)
  queues.recordSpeed(bad, true)
  waitAll(queues, [bad, good])
  expect(queues.startNext()).toEqual([bad])
  queues.finish(bad)
  expect(queues.startNext()).toEqual([good])
})

test('a long delivery moves to the slow queue if the slow queue has room', () => {
  const queues = new DeliveryQueues(2)
  const all = ids(0, 13)
  waitAll(queues, all)
  for (let round = 0; round < 5; round++)
    for (const id of queues.startNext()) expect(queues.moveToSlow(id)).toBeTrue()
  const last = queues.startNext()
  expect(last).toEqual(ids(10, 2))
  for (const id of last) expect(queues.moveToSlow(id)).toBeFalse()
  expect(queues.moveToSlow(all[0]!)).toBeTrue()
  queues.finish(last[0]!)
  expect(queues.startNext()).toEqual(ids(12, 1))
})

const failed = { failures: 1, failingMs: 0, status: 500, retryAfterMs: null }
const day = 86_400_000
const hour = 3_600_000
const waits = (chance: number) =>
  [1, 2, 3, 4, 5, 6, 7, 8, 50].map((failures) => afterFailure({ ...failed, failures }, chance))

test('the waits between attempts grow, with up to 10 % of random jitter', () => {
  const expected = [5_000, 300_000, 1_800_000, 2 * hour, 5 * hour, 10 * hour, 10 * hour, 10 * hour, 10 * hour]
  expect(waits(0)).toEqual(expected.map((waitMs) => ({ waitMs })))
  expect(waits(1)).toEqual(expected.map((waitMs) => ({ waitMs: Math.round(waitMs * 1.1) })))
  const { waitMs } = afterFailure(failed) as { waitMs: number }
  expect(waitMs >= 5_000 && waitMs <= 5_500).toBe(true)
})

test('Retry-After lengthens the wait, up to the longest wait', () => {
  const after = (retryAfterMs: number, failures = 1) => afterFailure({ ...failed, failures, retryAfterMs }, 0)
  expect(after(90_000)).toEqual({ waitMs: 90_000 })
  expect(after(1_000)).toEqual({ waitMs: 5_000 })
  expect(after(100 * day)).toEqual({ waitMs: 10 * hour })
  expect(after(90_000, 2)).toEqual({ waitMs: 300_000 })
})

test('410 or five days of failures disable a webhook, with the last attempt at the end of the five days', () => {
  expect(afterFailure({ ...failed, status: 410 })).toEqual({ disabled: 'The receiver answered 410 Gone' })
  const at = (failingMs: number) => afterFailure({ ...failed, failures: 20, failingMs }, 0)
  expect(at(4 * day)).toEqual({ waitMs: 10 * hour })
  expect(at(5 * day - hour)).toEqual({ waitMs: hour })
  expect(at(5 * day)).toEqual({ disabled: 'All attempts of 5 days failed' })
})
