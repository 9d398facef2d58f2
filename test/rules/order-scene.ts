import { end, keyOf, start } from '../../modules/order/keys.ts'
import { orderFact, type WantedOrder } from '../../modules/order/load.ts'
import { Order } from '../../modules/order/order.ts'
import { createTask, updateTask } from '../../modules/tasks/commands.ts'
import { task } from '../../modules/tasks/entity.ts'
import { applyEvent } from '../../src/actor/state.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { FactNeeded } from '../../src/model/facts.ts'
import { owner, projectCreated, projectId } from './events.ts'
import { contextOf, folded, ruleOf } from './given.ts'

interface Place {
  before?: string
  after?: string
  place?: 'first' | 'last'
}

/** A project in memory, and a model of its order: a list of ids. */
export function openBoard() {
  const state = folded([projectCreated])
  const context = contextOf(owner)
  let ids = 0
  context.newId = context.newEventId = () => `00000000-0000-7000-8000-${String(++ids).padStart(12, '0')}`
  const list: string[] = []
  const keyAt = (n: number) => (n < 0 ? start : n < list.length ? keyOf(state.row('task', list[n]!)!) : end)

  /** Loads what a command wants, as the database does. */
  function load(wanted: WantedOrder[]): Order {
    const order = new Order(projectId)
    const addGaps = (from: number, to: number) => {
      for (let n = from; n <= to; n++) {
        if (n < to && n >= 0 && list[n]) order.addTask(keyAt(n), list[n]!)
        order.addGap(keyAt(n - 1), keyAt(n))
      }
    }
    addGaps(0, 0)
    addGaps(list.length, list.length)
    for (const { taskId, around } of wanted) {
      if (taskId) addGaps(list.indexOf(taskId), list.indexOf(taskId) + 1)
      if (!around) continue
      const at = list.findLastIndex((_, n) => keyAt(n) <= around.key) + 1
      addGaps(Math.max(0, at - around.radius), Math.min(list.length, at + around.radius))
      order.radius = around.radius
    }
    return order
  }

  function run(command: typeof createTask | typeof updateTask, input: object): EventDraft[] {
    const wanted = task.factsFor!(input).map((query) => query.wanted as WantedOrder)
    for (;;) {
      state.facts.set(orderFact as never, load(wanted))
      try {
        return ruleOf(command as typeof updateTask, input as never)(state, context, state).changes
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

  /** Runs a command, and expects that after each event the order is the order of the model. Returns the events. */
  function send(command: typeof createTask | typeof updateTask, input: object, place: Place): EventDraft[] {
    const changes = run(command, input)
    for (const [n, change] of changes.entries()) {
      applyEvent(state, change)
      const isLast = n === changes.length - 1
      if (isLast) placeInList(change.entityId, place)
      expectInOrder(change.entityId, isLast ? undefined : changes.at(-1)!.entityId)
    }
    return changes
  }

  return {
    list,
    keys: () => list.map((_, n) => keyAt(n)),
    create: (place: Place) => send(createTask, { title: 'T', projectId, ...place }, place),
    move: (id: string, place: Place) => send(updateTask, { id, ...place }, place),
  }
}
