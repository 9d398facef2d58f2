import type { TaskRow } from '../../drizzle/rows.ts'
import type { State } from '../../src/actor/state.ts'
import type { Respacing, UndoContext } from '../../src/log/undo-input.ts'
import { rowBefore } from '../../src/log/rows.ts'
import { isRespacing } from '../../src/model/events.ts'
import { FactNeeded, type FactQuery, factQuery } from '../../src/model/definition.ts'
import { conflict } from '../../src/responses/errors.ts'
import { keyIn, keyOf, maxKeyLength } from './keys.ts'
import { orderFact } from './order.ts'

/**
 * The maximum length of a restored key. Other keys must be shorter, but an undo cannot give the tasks around a restored
 * key new keys.
 */
const maxLength = 64

type Placed = Pick<TaskRow, 'position' | 'number'>

/** A place: at a key, or directly before the task with the key. */
interface Spot {
  key: string
  isBefore: boolean
}

export const restoredFacts = ({ position }: Partial<TaskRow>): FactQuery[] =>
  position ? [factQuery(orderFact, { key: position })] : []

/** A place that an undo has restored: the key before the undone event, where this place is now, and its new key. */
interface RestoredPlace {
  from: string
  spot: Spot
  key: string
}

export interface PlacesOfUndo {
  state: State
  undo: UndoContext
  /** The restored places by the seqs of the undone events. */
  restored: Map<number, RestoredPlace>
}

function respacingsIn({ state, undo }: PlacesOfUndo): Respacing[] {
  const pending = undo.pendingEvents.filter((one) => isRespacing(one) && one.projectId === state.projectId)
  return [
    ...undo.respacings,
    ...pending.map((one): Respacing => {
      const [before, after] = [rowBefore(one), one.after].map((row) => keyOf(row as TaskRow))
      return { seq: one.seq, entityId: one.entityId, from: before!, to: after! }
    }),
  ]
}

/** Returns the key that a task has now if it had the key of `row` after event `seq`, and nobody has moved it since. */
export function keySince(row: TaskRow, seq: number, places: PlacesOfUndo): string {
  const { undo, restored } = places
  const undone = undo.events.findLast(
    (one) => one.entityId === row.id && one.seq > seq && restored.has(one.seq),
  )
  let key = keyOf(row)
  for (const one of respacingsIn(places))
    if (one.entityId === row.id && one.seq > seq && one.seq < (undone?.seq ?? Infinity) && one.from === key)
      key = one.to
  return undone && key === keyOf(rowBefore(undone) as TaskRow) ? restored.get(undone.seq)!.key : key
}

/**
 * Returns a position at the place that a task had before event `seq`: between its former neighbours, even if they have
 * new keys, or next to a task that is at this place now.
 * @throws HttpError 409
 */
export function restoredPosition(row: Placed, seq: number, places: PlacesOfUndo): string | null {
  const key = keyOf(row)
  const spot = spotSince({ key, isBefore: false }, seq, respacingsIn(places))
  // Only this task may have the key that is made from its number.
  const isImplied = spot.key === key && row.position == null
  const position = isImplied ? null : freeKey(places.state, besideRestored({ key, spot }, places))
  places.restored.set(seq, { from: key, spot, key: position ?? key })
  return position
}

/**
 * Returns the place. If this undo has returned another task to the same place, returns a place beside that task: the
 * two tasks had different keys, and keep their order.
 */
function besideRestored({ key, spot }: { key: string; spot: Spot }, { restored }: PlacesOfUndo): Spot {
  const here = [...restored.values()]
    .filter((one) => one.spot.key === spot.key && one.spot.isBefore === spot.isBefore && one.from !== key)
    .sort((a, b) => (a.from < b.from ? -1 : 1))
  const above = here.find(({ from }) => from > key)
  const beside = above ?? here.at(-1)
  return beside ? { key: beside.key, isBefore: beside === above } : spot
}

/** Follows a place through the later events that gave the tasks around it new keys. */
function spotSince(spot: Spot, seq: number, respacings: Respacing[]): Spot {
  return commitsOf(respacings).reduce((now, commit) => {
    // The events that made room for the task itself come directly before its event.
    if (commit.at(-1)!.seq < seq - 1) return now
    return spotAfter(
      now,
      commit.toSorted((a, b) => (a.from < b.from ? -1 : 1)),
    )
  }, spot)
}

/**
 * Groups the events of new keys by commit. In each commit, the event of the placed task follows them, so a gap in the
 * seqs separates two commits.
 */
function commitsOf(respacings: Respacing[]): Respacing[][] {
  const commits: Respacing[][] = []
  let last: number | undefined
  for (const one of respacings) {
    if (last === undefined || one.seq !== last + 1) commits.push([])
    commits.at(-1)!.push(one)
    last = one.seq
  }
  return commits
}

/** @param commit in the order of the tasks. It includes all tasks between its first and its last task. */
function spotAfter({ key, isBefore }: Spot, commit: Respacing[]): Spot {
  const same = commit.find(({ from }) => from === key)
  if (same) return { key: same.to, isBefore }
  const high = commit.find(({ from }) => from > key)
  const low = commit.findLast(({ from }) => from < key)
  if (low && high) return { key: keyBetween(low, high, key), isBefore: false }
  if (high && key >= high.to) return { key: high.to, isBefore: true }
  if (low && key <= low.to) return { key: low.to, isBefore: false }
  return { key, isBefore }
}

/**
 * Returns a key between the new keys of two tasks. Keys that were between these tasks keep their order, unless they differ
 * only beyond the maximum length.
 */
function keyBetween(low: Respacing, high: Respacing, key: string): string {
  let middle = keyIn({ low: low.to, high: high.to }, 0)
  // A key that begins like the upper key could sort after it.
  while (high.to.startsWith(middle)) middle = keyIn({ low: low.to, high: middle }, 0)
  let same = 0
  while (low.from[same] === high.from[same]) same++
  const exact = (middle + key.slice(same)).slice(0, Math.max(middle.length, maxKeyLength - 2))
  // A valid key does not end with 0. Here, the key may be made from a number or shortened, and then end with 0.
  return exact.endsWith('0') ? `${exact}01` : exact
}

/** @throws FactNeeded if the tasks around the key are not loaded. @throws HttpError 409 */
function freeKey(state: State, { key, isBefore }: Spot): string {
  if (!state.facts.has(orderFact as never)) throw new FactNeeded(factQuery(orderFact, { key }))
  const order = state.fact(orderFact)
  if (order.gapAround(key)) return key
  const gaps = [order.gapAfter(key), order.gapBefore(key)]
  if (isBefore) gaps.reverse()
  if (!gaps[0]) throw new FactNeeded(factQuery(orderFact, { key }))
  const keys = gaps.flatMap((gap) => (gap ? keyIn(gap, state.lastNumber) : []))
  const free = keys.find(({ length }) => length <= maxLength)
  if (free === undefined) throw noRoom()
  return free
}

const noRoom = () =>
  conflict('The earlier place of the task has no room: place the task with before or after')
