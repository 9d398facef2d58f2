import { afterAll, beforeAll, expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { eventually, openPair, type Pair, upTo } from './pair.ts'

let pair: Pair
beforeAll(async () => void (pair = await openPair()))
afterAll(() => pair.close())

test('two processes that write one hot project both get a decent share', async () => {
  const { atA, atB } = pair
  const { id: projectId } = await make(atA, '/projects', { name: 'Hot' })
  const counts = [0, 0]
  let going = true
  const writers = upTo(16).map(async (n) => {
    while (going) {
      await make(n % 2 ? atA : atB, '/tasks', { title: 'Mine', projectId })
      counts[n % 2]!++
    }
  })
  await eventually('1000 creates', () => counts[0]! + counts[1]! >= 1_000)
  going = false
  await Promise.all(writers)
  const total = counts[0]! + counts[1]!
  expect(Math.min(...counts) / total).toBeGreaterThan(0.25)
})
