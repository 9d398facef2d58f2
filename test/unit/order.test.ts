import fc from 'fast-check'
import { end, impliedKey, keyIn, keyOf, keysIn, start } from '../../modules/order/keys.ts'
import { orderFact, type WantedOrder, Order } from '../../modules/order/order.ts'
import { createTask, updateTask } from '../../modules/tasks/commands.ts'
import { task } from '../../modules/tasks/entity.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { FactNeeded } from '../../src/model/definition.ts'
import { cases, upTo } from '../kit.ts'
import { openProject } from './memory-project.ts'

type Place = { before?: string; after?: string; place?: 'first' | 'last' }

/** A project in memory with some tasks, and a model of its order: a list of ids. */
function openBoard(tasks: number) {
  const { id: projectId, state, decideOn } = openProject([])
  const list: string[] = []
  const keyAt = (n: number) => (n < 0 ? start : n < list.length ? keyOf(state.row('task', list[n]!)!) : end)

  /** Loads what a command wants, as the database does. */
  function load(wanted: WantedOrder[]): Order {
    const order = new Order()
    const addGaps = (from: number, to: number) => {
      for (let n = from; n <= to; n++) {
        if (n < to && n >= 0 && list[n]) order.addTask(keyAt(n), list[n]!)
        order.addGap(keyAt(n - 1), keyAt(n))
      }
    }
    for (const n of [0, list.length]) addGaps(n, n)
    for (const { taskId, key, radius } of wanted) {
      if (taskId) addGaps(list.indexOf(taskId), list.indexOf(taskId) + 1)
      if (key === undefined || radius === undefined) continue
      const at = list.findLastIndex((_, n) => keyAt(n) <= key) + 1
      addGaps(Math.max(0, at - radius), Math.min(list.length, at + radius))
      order.radius = radius
    }
    return order
  }

  function run(command: typeof createTask | typeof updateTask, input: object): EventDraft[] {
    const wanted = task.factsFor!(input).map((query) => query.wanted as WantedOrder)
    for (;;) {
      state.facts.set(orderFact as never, load(wanted))
      try {
        return decideOn(command as typeof updateTask, input as never, {}).changes
      } catch (error) {
        if (!(error instanceof FactNeeded)) throw error
        wanted.push(error.query.wanted as WantedOrder)
      } finally {
        state.facts.clear()
      }
    }
  }

  /** The moving task may be anywhere until the last event. */
  function expectInOrder(id: string, moving?: string): void {
    const n = list.indexOf(id)
    const [below, above] = [list[n - 1] === moving ? n - 2 : n - 1, list[n + 1] === moving ? n + 2 : n + 1]
    const key = keyAt(n)
    expect([keyAt(below) < key, key < keyAt(above), key.length <= 48]).toEqual([true, true, true])
  }

  function placeInList(id: string, { before, after, place }: Place): void {
    if (list.includes(id)) list.splice(list.indexOf(id), 1)
    const neighbour = list.indexOf(before ?? after ?? '')
    const last = place === 'last' ? list.length : 0
    list.splice(before ? neighbour : after ? neighbour + 1 : last, 0, id)
  }

  /** Creates or moves a task. After each event the order is the order of the model. Returns the events and the task. */
  function put(place: Place, id?: string): { events: number; id: string } {
    const changes = id
      ? run(updateTask, { id, ...place })
      : run(createTask, { title: 'T', projectId, ...place })
    const moved = changes.at(-1)?.entityId ?? id!
    for (const [n, change] of changes.entries()) {
      state.apply(change)
      const isLast = n === changes.length - 1
      if (isLast) placeInList(change.entityId, place)
      expectInOrder(change.entityId, isLast ? undefined : moved)
    }
    return { events: changes.length, id: moved }
  }

  const expectSorted = () => {
    const keys = list.map((_, n) => keyAt(n))
    expect(keys).toEqual([...new Set(keys)].sort())
  }
  for (const _ of upTo(tasks)) put({ place: 'last' })
  return { list, put, expectSorted }
}

const count = cases(1_000)

test('many new tasks in one gap, alternately before and after the previous task, keep one order and short keys', () => {
  const { list, put, expectSorted } = openBoard(2)
  let last = { id: list[0]!, events: 0 }
  let events = 0
  for (const n of upTo(count)) {
    last = put(n % 2 ? { after: last.id } : { before: last.id })
    events += last.events
  }
  expectSorted()
  expect(list).toHaveLength(count + 2)
  expect(events).toBeGreaterThan(count + 128)
  expect(events).toBeLessThan(5 * count)
})

test('any sequence of places gives the order of a list', () => {
  const step = fc.record({ task: fc.nat(), near: fc.nat(), where: fc.nat({ max: 3 }), isNew: fc.boolean() })
  const property = fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
    const { list, put, expectSorted } = openBoard(3)
    for (const { task, near, where, isNew } of steps) {
      const [id, other] = [task, near].map((n) => list[n % list.length]!) as [string, string]
      const places: Place[] = [{ before: other }, { after: other }, { place: 'first' }, { place: 'last' }]
      if (isNew || id !== other) put(places[where]!, isNew ? undefined : id)
    }
    expectSorted()
  })
  fc.assert(property, { numRuns: cases(60) })
})

test('keys at the end are before the key of the next task, and keys at the start before those of all tasks', () => {
  const atEnd = { low: impliedKey(10), high: end }
  const atStart = { low: start, high: impliedKey(5) }
  for (const [gap, next] of [
    [atEnd, impliedKey(11)],
    [atStart, impliedKey(1)],
  ] as const) {
    const keys = [...keysIn(gap, 10, 20), next]
    expect(keys).toEqual([...new Set(keys)].sort())
    expect(keyIn(gap, 10) < next).toBe(true)
  }
})
