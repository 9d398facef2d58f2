import { expect, test } from 'bun:test'
import { Budget } from '../../src/http/limits/budget.ts'

/** Two processes with a budget in common, of which each takes two at once. */
function open() {
  const count = { points: 0 }
  const add = async (_: string, points: number) => ({ points: (count.points += points), msToEnd: 60_000 })
  const policy = { name: 'writes', points: 100, seconds: 60 }
  const process = () => new Budget({ add, read: () => add('', 0) }, policy)
  return { count, one: process(), other: process() }
}

test('one batch may exceed the budget, and no batch after it', async () => {
  const { count, one, other } = open()
  for (const process of [one, other]) await process.take('k') // each has one left
  count.points = 100
  for (const process of [one, other]) await process.take('k')
  await one.takeMore('k', 1)
  expect(count.points).toBe(101)
  await expect(other.takeMore('k', 1)).rejects.toMatchObject({ status: 429 })
})

test('what a batch takes from its own share is given to nobody else', async () => {
  const { count, one } = open()
  await one.take('k')
  await one.takeMore('k', 1)
  expect(count.points).toBe(2)
  await one.take('k')
  expect(count.points).toBe(4)
})
