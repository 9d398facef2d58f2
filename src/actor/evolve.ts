import { rowAfter } from '../log/rows.ts'
import type { StoredRows } from '../model/entities.ts'
import type { Change } from '../model/events.ts'
import type { State } from './state.ts'

/**
 * Applies one fact: the state takes the next version and the row as it stands after. Changes the state that it is given,
 * and answers it: who only tries gives it a fork. The only way a state changes.
 */
export function evolve(state: State, change: Change): State {
  const { type, entity, entityId, untold } = change
  state.version++
  state.lastEventId = change.id
  // Its subtasks and comments may have changed while the task lived in another project.
  if (type === 'task.moved_in') state.forgetRows()
  if (type === 'task.moved_out') state.leaving = null
  const after = rowAfter(change)
  if (after)
    state.put(entity, entityId, untold ? { ...state.row(entity, entityId), ...after, ...untold } : after)
  else state.drop(entity, entityId)
  const number = entity === 'task' ? (after as StoredRows['task'] | null)?.number : undefined
  if (number !== undefined && number > state.lastNumber) state.lastNumber = number
  return state
}
