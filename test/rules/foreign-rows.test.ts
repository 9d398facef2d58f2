import '../../modules/modules.ts'
import { expect, test } from 'bun:test'
import { invert, type Undoing } from '../../modules/undo/invert.ts'
import { State } from '../../src/actor/state.ts'
import { newId } from '../../src/ids.ts'
import type { LoggedEvent } from '../../src/log/past.ts'

test('what another task has by now is not set back, whatever its id', () => {
  const [projectId, taskId, id] = [newId(), newId(), newId()]
  const row = { id, taskId, title: 'Same', completed: false }
  const event = {
    ...{ id: newId(), projectId, seq: 4, type: 'subtask.updated', entity: 'subtask', entityId: id, taskId },
    ...{ before: { ...row, title: 'First' }, after: row },
  } as unknown as LoggedEvent
  const trialWith = (own: string) => {
    const trial = new State(projectId, 5, 1, newId())
    trial.put('task', taskId, { id: taskId, projectId } as never)
    trial.put('subtask', id, { ...row, taskId: own } as never)
    const known = { now: '2027-01-31T17:00:00.000Z', newEventId: newId, caller: { userId: newId() } }
    return { trial, known, past: { events: [event], decided: [] } } as unknown as Undoing
  }
  expect(invert('subtask.updated', event, trialWith(taskId)).after).toMatchObject({ title: 'First' })
  expect(() => invert('subtask.updated', event, trialWith(newId()))).toThrow('Seq 4 cannot be undone')
})
