import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import { type EventDraft, serviceActor, updated } from '../../src/model/events.ts'
import { FactNeeded, factQuery } from '../../src/model/facts.ts'
import { end, type Gap, keysIn, maxKeyLength, start } from './keys.ts'
import { orderFact } from './load.ts'

/** The number of tasks on each side that get new keys; more if the new keys would still be long. */
const radius = 64
const widerRadius = 1_024
const longKey = 40

export interface Placed {
  fields: { position: string }
  /** Events that give the tasks around the place new keys. They come before the event of the placed task. */
  changes: EventDraft[]
}

/** Gives the tasks around a gap new keys with equal distances. @throws FactNeeded if these tasks are not loaded */
export function respace(state: ProjectState, context: RuleContext, gap: Gap, taskId?: string): Placed {
  for (let count = radius; ; count = Math.max(widerRadius, count * 4)) {
    const { keys, tasks, at, isAll } = neighbourhood(state, gap, count, taskId)
    const most = count === radius ? longKey : maxKeyLength
    if (!isAll && keys.some(({ length }) => length > most)) continue
    const [position] = keys.splice(at, 1)
    const moves = tasks.map(({ id, key }, n) => ({ id, from: key, to: keys[n]! }))
    // In this order no task passes another, so the order of the tasks is the same after each event.
    const ordered = [
      ...moves.filter(({ from, to }) => to < from),
      ...moves.filter(({ from, to }) => to > from).toReversed(),
    ]
    const ids = { newEventId: () => context.newId() }
    const changes = ordered.map(({ id, to }) => {
      const fields = { position: to, updatedAt: context.now }
      const change = updated(state, ids, 'task.updated', state.requireRow('task', id), fields)
      return { ...change, actorId: serviceActor }
    })
    return { fields: { position: position! }, changes }
  }
}

/** The tasks around a gap in their order, the index of the gap, and a new key for each task and for the gap. */
function neighbourhood(state: ProjectState, { low, high }: Gap, count: number, taskId?: string) {
  const order = state.fact(orderFact)
  const below = order.neighbours(low, 'below', count)
  const above = order.neighbours(high, 'above', count)
  if (!below || !above)
    throw new FactNeeded(factQuery(orderFact, { around: { key: low === start ? high : low, radius: count } }))
  const others = [below.tasks.toReversed(), above.tasks].map((tasks) =>
    tasks.filter(({ id }) => id !== taskId),
  )
  const tasks = others.flat()
  const bounds = { low: below.bound, high: above.bound }
  return {
    tasks,
    at: others[0]!.length,
    keys: keysIn(bounds, state.lastNumber, tasks.length + 1),
    isAll: bounds.low === start && bounds.high === end,
  }
}
