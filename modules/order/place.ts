import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import { isId } from '../../src/id-format.ts'
import { type Decision, type EventDraft, serviceActor, updated } from '../../src/model/events.ts'
import { type FactQuery, factQuery, FactNeeded } from '../../src/model/definition.ts'
import { sampleId } from '../../src/schema/response.ts'
import { badRequest, invalid, conflict } from '../../src/responses/errors.ts'
import { end, type Gap, keyIn, keyOf, maxKeyLength, start, keysIn } from './keys.ts'
import { orderFact } from './order.ts'
import type { Spot } from './schema.ts'

const severalPlaces = () => badRequest('Send at most one of before, after and place')
export const placeOfMovedTask = () =>
  badRequest('before, after and place cannot be sent with a projectId that moves the task')
const ownNeighbour = (name: string) => invalid(name, 'must be the id of another task')
const neighbourMissing = (id: string) => conflict(`Task ${id} is not in the project: it was deleted or moved`)

export const placeErrors = () => [severalPlaces(), ownNeighbour('before'), neighbourMissing(sampleId)]

const isPlain = ({ before, after, place }: Spot) =>
  before === undefined && after === undefined && place === undefined

/** @throws HttpError 400 */
export function requireNoSpot(input: Spot): void {
  if (!isPlain(input)) throw placeOfMovedTask()
}

/** Returns the only field of the input that names a place. @throws HttpError 400 */
function spotOf({ before, after, place }: Spot, taskId?: string): Spot {
  const given = Object.entries({ before, after, place }).filter(([, value]) => value !== undefined)
  if (given.length > 1) throw severalPlaces()
  const [name, id] = given[0]!
  if (id === taskId || (name !== 'place' && !isId(id!))) throw ownNeighbour(name)
  return { [name]: id }
}

export function spotFacts({ before, after, place }: Spot & Partial<TaskRow>): FactQuery[] {
  const near = before ?? after
  if (near === undefined && place === undefined) return []
  return [factQuery(orderFact, near !== undefined && isId(near) ? { taskId: near } : {})]
}

/** Adds `changes`, which are new positions of neighbours, before the events of the placed task. */
export const precededBy = <T>(changes: EventDraft[], decision: Decision<T>): Decision<T> =>
  changes.length > 0 ? { ...decision, changes: [...changes, ...decision.changes], isBatch: true } : decision

/**
 * Decides the key of a new task, or of `task`. Returns undefined if the input names no place, or the task already has this place.
 * @throws HttpError 400, or 409 if the neighbour is not in the project
 */
export function place(
  state: ProjectState,
  context: RuleContext,
  input: Spot & { id?: string },
  task?: TaskRow,
): Placed | undefined {
  if (isPlain(input)) return undefined
  const gap = gapOf(state, spotOf(input, task?.id ?? input.id))
  if (task ? [gap.low, gap.high].includes(keyOf(task)) : gap.high === end) return undefined
  const position = keyIn(gap, state.lastNumber)
  return position.length > maxKeyLength
    ? respace(state, context, gap, task?.id)
    : { fields: { position }, changes: [] }
}

function gapOf(state: ProjectState, { before, after, place }: Spot): Gap {
  const order = state.fact(orderFact)
  const id = before ?? after
  const neighbour = id === undefined ? undefined : state.row('task', id)
  if (id !== undefined && neighbour?.projectId !== state.projectId) throw neighbourMissing(id)
  const key = neighbour ? keyOf(neighbour) : place === 'first' ? start : end
  const gap = before !== undefined || place === 'last' ? order.gapBefore(key) : order.gapAfter(key)
  if (!gap) throw new Error('The place of a task is not loaded')
  return gap
}

/** The number of tasks on each side that get new keys; more if the new keys would still be long. */
const radius = 64
const widerRadius = 1_024
const longKey = 40

interface Placed {
  fields: { position: string }
  /** Events that give the tasks around the place new keys. They come before the event of the placed task. */
  changes: EventDraft[]
}

/** Gives the tasks around a gap new keys with equal distances. @throws FactNeeded if these tasks are not loaded */
function respace(state: ProjectState, context: RuleContext, gap: Gap, taskId?: string): Placed {
  for (let count = radius; ; count = Math.max(widerRadius, count * 4)) {
    const { keys, tasks, at, isAll } = neighbourhood(state, gap, count, taskId)
    const maxLength = count === radius ? longKey : maxKeyLength
    if (!isAll && keys.some(({ length }) => length > maxLength)) continue
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
    throw new FactNeeded(factQuery(orderFact, { key: low === start ? high : low, radius: count }))
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
