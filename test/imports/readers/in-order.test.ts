import { expect, test } from 'bun:test'
import { readers } from '../../../modules/imports/sources.ts'
import { reading, tasksOf } from './reading.ts'

const titles = async (cards: object[]) => {
  const lists = [
    { _id: 'second', title: 'Second', sort: 2 },
    { _id: 'first', title: 'First', sort: 1 },
  ]
  const file = JSON.stringify({ lists, cards: cards.map((card, n) => ({ _id: `${n}`, ...card })) })
  return tasksOf(await reading(readers.wekan, file, { partBytes: 65_536 })).map(({ title }) => title)
}

test('sorts cards by the positions of their lists and cards, and keeps the order of equal cards', async () => {
  const cards = [
    { title: 'in the second list', listId: 'second', sort: 1 },
    { title: 'without a list', sort: 1 },
    { title: 'second', listId: 'first', sort: 5 },
    { title: 'as the second', listId: 'first', sort: 5 },
    { title: 'without a position', listId: 'first' },
    { title: 'first', listId: 'first', sort: 4 },
  ]
  const first = ['first', 'second', 'as the second', 'without a position']
  expect(await titles(cards)).toEqual([...first, 'in the second list', 'without a list'])
})

test('sorts a large file in groups of 16 million characters', async () => {
  const description = 'x'.repeat(3_900_000)
  const cards = [5, 4, 3, 2, 1, 0].map((sort) => ({ title: `${sort}`, sort, description }))
  expect(await titles(cards)).toEqual(['1', '2', '3', '4', '5', '0'])
})
