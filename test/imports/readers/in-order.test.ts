import { expect, test } from 'bun:test'
import { InOrder } from '../../../modules/imports/readers/boards/order.ts'

test('sorts items by their positions, and keeps the order of equal ones', () => {
  const items = new InOrder<string>()
  const add = (item: string, order: (number | undefined)[]) => expect(items.add(item, order, 10)).toEqual([])
  add('in the second list', [2, 1])
  add('without a list', [undefined, 1])
  add('second', [1, 5])
  add('as the second', [1, 5])
  add('without a position', [1, undefined])
  add('first', [1, 4])
  const first = ['first', 'second', 'as the second', 'without a position']
  expect(items.take()).toEqual([...first, 'in the second list', 'without a list'])
  expect(items.take()).toEqual([])
})

test('returns the buffered items when they exceed 16 million characters', () => {
  const items = new InOrder<string>()
  expect(items.add('b', [2], 15_000_000)).toEqual([])
  expect(items.add('a', [1], 1_000_001)).toEqual(['a', 'b'])
  expect(items.add('c', [0], 1)).toEqual([])
  expect(items.take()).toEqual(['c'])
})
