import type { TaskRow } from '../../drizzle/rows.ts'
import type { State } from '../../src/actor/state.ts'
import type { Respacing, UndoInput } from '../../src/log/undo-input.ts'
import { FactNeeded, type FactQuery, factQuery } from '../../src/model/definition.ts'
import { conflict } from '../../src/responses/errors.ts'
import { keyIn, keyOf } from './keys.ts'
import { orderFact } from './order.ts'

/**
 * The maximum length of a restored key. Other keys must be shorter, but an undo cannot give the tasks around a restored
 * key new keys.
 */
const maxLength = 64

type Placed = Pick<TaskRow, 'id' | 'position' | 'number'>

/** A place: at a key, or directly before the task with the key. */
interface Spot {
  key: string
  isBefore: boolean
}

export const restoredFacts = ({ position }: Partial<TaskRow>): FactQuery[] =>
  position ? [factQuery(orderFact, { key: position })] : []

export interface PlacesOfUndo {
  state: State
  undo: UndoInput
  /** The keys that this undo has given to tasks: `from` is the key before the undone event with this seq. */
  restored: Respacing[]
}

/** Returns the key that a task has now if it had the key of `row` after event `seq`, and nobody has moved it since. */
export const keySince = (row: Placed, seq: number, { undo, restored }: PlacesOfUndo): string =>
  followed(row.id, keyOf(row), seq, [...undo.respacings, ...restored])

function followed(taskId: string, key: string, seq: number, changes: Respacing[]): string {
  let now = key
  for (const one of changes) if (one.entityId === taskId && one.seq > seq && one.from === now) now = one.to
  return now
}

/**
 * Returns a position at the place that a task had before event `seq`: beside its former neighbours, even if they have
 * new keys, or next to a task that is at this place now.
 * @throws HttpError 409
 */
export function restoredPosition(row: Placed, seq: number, places: PlacesOfUndo): string | null {
  const key = keyOf(row)
  const spot = spotSince(row, seq, places)
  // Only this task may have the key that is made from its number.
  const isImplied = spot.key === key && row.position == null
  const position = isImplied ? null : freeKey(places.state, spot)
  places.restored.push({ seq, entityId: row.id, from: key, to: position ?? key })
  return position
}

/**
 * Returns the place of a task before event `seq`: at its key, unless the nearest task below or above has received a new
 * key on the other side of this key.
 */
function spotSince(row: Placed, seq: number, { undo, restored }: PlacesOfUndo): Spot {
  const key = keyOf(row)
  // The events that made room for the task itself come directly before its event.
  const seqs = new Set(undo.respacings.map((one) => one.seq))
  let first = seq
  while (seqs.has(first - 1)) first--
  const changes = [...undo.respacings, ...restored].filter(
    (one) => one.seq >= first && one.entityId !== row.id,
  )
  const others = [...Map.groupBy(changes, ({ entityId }) => entityId).values()].map(([one]) => one!)
  const [low, high] = [others.filter(({ from }) => from <= key), others.filter(({ from }) => from > key)]
  const now = ({ entityId, from }: Respacing) => followed(entityId, from, first - 1, changes)
  const below = low.length > 0 && now(low.reduce((a, b) => (a.from > b.from ? a : b)))
  if (below && below >= key) return { key: below, isBefore: false }
  const above = high.length > 0 && now(high.reduce((a, b) => (a.from < b.from ? a : b)))
  if (above && above <= key) return { key: above, isBefore: true }
  return { key, isBefore: false }
}

/** @throws FactNeeded if the tasks around the key are not loaded. @throws HttpError 409 */
function freeKey(state: State, { key, isBefore }: Spot): string {
  if (!state.facts.has(orderFact as never)) throw new FactNeeded(factQuery(orderFact, { key }))
  const order = state.fact(orderFact)
  if (order.gapAround(key)) return key
  const gap = isBefore ? order.gapBefore(key) : order.gapAfter(key)
  if (!gap) throw new FactNeeded(factQuery(orderFact, { key }))
  const free = keyIn(gap, state.lastNumber)
  if (free.length > maxLength) throw noRoom()
  return free
}

const noRoom = () =>
  conflict('The earlier place of the task has no room: place the task with before or after')
