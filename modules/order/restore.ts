import type { TaskRow } from '../../drizzle/rows.ts'
import type { CheckedState } from '../../src/model/definition.ts'
import { type FactQuery, factQuery } from '../../src/model/facts.ts'
import { conflict } from '../../src/responses/errors.ts'
import { keyIn } from './keys.ts'
import { orderFact } from './load.ts'

/** Longer than other keys may be, because an undo gives no other tasks new keys. */
const maxLength = 64

export const restoredFacts = ({ position }: Partial<TaskRow>): FactQuery[] =>
  position ? [factQuery(orderFact, { key: position })] : []

export const withFreePosition = (values: Partial<TaskRow>, state: CheckedState): Partial<TaskRow> =>
  values.position ? { ...values, position: freePosition(state, values.position) } : values

/** Returns the position, or a key next to it if another task has this key now. @throws HttpError 409 */
function freePosition(state: CheckedState, position: string): string {
  const order = state.fact(orderFact)
  if (order.gapAround(position)) return position
  const gaps = [order.gapAfter(position), order.gapBefore(position)]
  const keys = gaps.flatMap((gap) => (gap ? keyIn(gap, state.lastNumber) : []))
  const key = keys.find(({ length }) => length <= maxLength)
  if (key === undefined) throw noRoom()
  return key
}

const noRoom = () =>
  conflict('The earlier place of the task has no room: place the task with before or after')
