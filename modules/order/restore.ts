import type { TaskRow } from '../../drizzle/rows.ts'
import type { State } from '../../src/actor/state.ts'
import type { Respacing, UndoInput } from '../../src/log/undo-input.ts'
import { FactNeeded, type FactQuery, factQuery } from '../../src/model/definition.ts'
import { conflict } from '../../src/responses/errors.ts'
import { end, keyIn, keyOf, start } from './keys.ts'
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
export function keySince(row: Placed, seq: number, { undo, restored }: PlacesOfUndo): string {
  let key = keyOf(row)
  for (const one of [...undo.respacings, ...restored])
    if (one.entityId === row.id && one.seq > seq && one.from === key) key = one.to
  return key
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
  const position = isImplied ? null : freeKey(places.state, spot, key)
  places.restored.push({ seq, entityId: row.id, from: key, to: position ?? key })
  return position
}

/**
 * Returns where the place of a task before event `seq` is now: follows it through the later commits with new keys, on the
 * same side of the tasks that this undo has restored.
 */
function spotSince(row: Placed, seq: number, { undo, restored }: PlacesOfUndo): Spot {
  // The events that made room for the task itself come directly before its event.
  const commits = commitsOf(undo.respacings).filter((commit) => commit.at(-1)!.seq >= seq - 1)
  const tasks = [...new Map(restored.map((one) => [one.entityId, one])).values()].filter(
    ({ entityId }) => entityId !== row.id,
  )
  let spot: Spot = { key: keyOf(row), isBefore: false }
  let [low, high] = [start, end]
  for (const step of [...commits, ...tasks.map((one) => [one])].sort((a, b) => a[0]!.seq - b[0]!.seq)) {
    const [{ from, to }] = step as [Respacing]
    if (!tasks.includes(step[0]!)) spot = spotAfter(spot, step)
    else if (from < spot.key || (from === spot.key && !spot.isBefore)) low = low > to ? low : to
    else high = high < to ? high : to
  }
  if (low >= spot.key) return { key: low, isBefore: false }
  return high <= spot.key ? { key: high, isBefore: true } : spot
}

/** Groups events with new keys by commit. In each commit, the event of the placed task follows them. */
function commitsOf(respacings: readonly Respacing[]): Respacing[][] {
  const commits: Respacing[][] = []
  for (const one of respacings) {
    const last = commits.at(-1)
    if (last?.at(-1)!.seq === one.seq - 1) last.push(one)
    else commits.push([one])
  }
  return commits
}

/** Moves a place to the nearest task below or above it that has passed it. A place at the key of a task stays there. */
function spotAfter({ key, isBefore }: Spot, commit: Respacing[]): Spot {
  const sorted = commit.toSorted((a, b) => (a.from < b.from ? -1 : 1))
  const [low, high] = [sorted.findLast(({ from }) => from <= key), sorted.find(({ from }) => from > key)]
  if (low?.from === key) return { key: low.to, isBefore }
  if (low && low.to >= key) return { key: low.to, isBefore: false }
  return high && high.to <= key ? { key: high.to, isBefore: true } : { key, isBefore }
}

/**
 * Returns `wanted` if the place is there and free, else a key directly beside the place: another task that has left the
 * key of the place may return to it.
 * @throws FactNeeded if the tasks around the key are not loaded. @throws HttpError 409
 */
function freeKey(state: State, { key, isBefore }: Spot, wanted: string): string {
  if (!state.facts.has(orderFact as never)) throw new FactNeeded(factQuery(orderFact, { key }))
  const order = state.fact(orderFact)
  const around = order.gapAround(key)
  if (around && key === wanted) return key
  const [below, above] = around
    ? [
        { ...around, high: key },
        { ...around, low: key },
      ]
    : [order.gapBefore(key), order.gapAfter(key)]
  const gap = isBefore ? below : above
  if (!gap) throw new FactNeeded(factQuery(orderFact, { key }))
  const free = keyIn(gap, state.lastNumber)
  if (free.length > maxLength) throw noRoom()
  return free
}

const noRoom = () =>
  conflict('The earlier place of the task has no room: place the task with before or after')
