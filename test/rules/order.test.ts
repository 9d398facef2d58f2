import fc from 'fast-check'
import type { EventDraft } from '../../src/model/events.ts'
import { cases } from '../kit.ts'
import { Order } from '../../modules/order/order.ts'
import { openBoard } from './order-scene.ts'

const moves = cases(1_000)
const idOf = (changes: EventDraft[]) => changes.at(-1)!.entityId

function openWithTasks(count: number) {
  const board = openBoard()
  for (let n = 0; n < count; n++) board.create({ place: 'last' })
  return board
}

const expectSorted = (keys: string[]) => expect(keys).toEqual([...new Set(keys)].sort())

test('1,000 new tasks in one gap, alternately before and after the previous task, keep one order and short keys', () => {
  const board = openWithTasks(2)
  let [last] = board.list as [string]
  let events = 0
  for (let n = 0; n < moves; n++) {
    const changes = board.create(n % 2 ? { before: last } : { after: last })
    last = idOf(changes)
    events += changes.length
  }
  expectSorted(board.keys())
  expect(board.list).toHaveLength(moves + 2)
  expect(events).toBeGreaterThan(moves + 128)
  expect(events).toBeLessThan(5 * moves)
})

test('1,000 moves of 300 tasks into one gap keep one order and short keys', () => {
  const board = openWithTasks(300)
  let last = board.list[150]!
  for (let n = 0; n < moves; n++) {
    const id = board.list[(n * 97) % 300]!
    if (id === last) continue
    board.move(id, n % 2 ? { before: last } : { after: last })
    last = id
  }
  expectSorted(board.keys())
})

test('1,000 moves to the first or last place keep one order and short keys', () => {
  for (const place of ['first', 'last'] as const) {
    const board = openWithTasks(150)
    for (let n = 0; n < moves; n++) board.move(board.list[place === 'first' ? 149 : 0]!, { place })
    expectSorted(board.keys())
    const created = board.create({ place: 'last' })
    expect(board.list.at(-1)).toBe(idOf(created))
  }
})

test('any sequence of places gives the order of a list', () => {
  const step = fc.record({ task: fc.nat(), near: fc.nat(), where: fc.nat({ max: 4 }), isNew: fc.boolean() })
  const property = fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
    const board = openWithTasks(3)
    for (const { task, near, where, isNew } of steps) {
      const id = board.list[task % board.list.length]!
      const other = board.list[near % board.list.length]!
      const place = [{ before: other }, { after: other }, { place: 'first' }, { place: 'last' }][
        where % 4
      ] as object
      if (isNew) board.create(place)
      else if (id !== other) board.move(id, place)
    }
    expectSorted(board.keys())
  })
  fc.assert(property, { numRuns: cases(60) })
})

test('a gap between two tasks stays one gap after a task between them leaves', () => {
  const order = new Order('project', [
    { low: 'a1', high: 'a3' },
    { low: 'a3', high: 'a5' },
  ])
  const row = { id: 'task', number: 1, position: 'a3' }
  order.apply({ entity: 'task', entityId: 'task', before: row, after: null } as never)
  expect(order.gapAround('a3')).toEqual({ low: 'a1', high: 'a5' })
})
