import '../../modules/modules.ts'
import { expect, test } from 'bun:test'
import { invert, type UndoState } from '../../modules/undo/invert.ts'
import { State } from '../../src/actor/state.ts'
import { newId } from '../../src/ids.ts'
import type { LoggedEvent } from '../../src/log/undo-input.ts'

test('an undo rejects a subtask id that now belongs to another task', () => {
  const [projectId, taskId, id] = [newId(), newId(), newId()]
  const row = { id, taskId, title: 'Same', completed: false }
  const event = {
    ...{ id: newId(), projectId, seq: 4, type: 'subtask.updated', entity: 'subtask', entityId: id, taskId },
    ...{ before: { ...row, title: 'First' }, after: row },
  } as unknown as LoggedEvent
  const stateWith = (own: string) => {
    const state = new State(projectId, 5, 1, newId())
    state.put('task', taskId, { id: taskId, projectId } as never)
    state.put('subtask', id, { ...row, taskId: own } as never)
    const context = { now: '2027-01-31T17:00:00.000Z', newEventId: newId, caller: { userId: newId() } }
    return { state, context, undo: { events: [event], pendingEvents: [] } } as unknown as UndoState
  }
  expect(invert('subtask.updated', event, stateWith(taskId)).after).toMatchObject({ title: 'First' })
  expect(() => invert('subtask.updated', event, stateWith(newId()))).toThrow('Seq 4 cannot be undone')
})
