import { batchProject } from '../../modules/commands.ts'
import { createTask, updateTask } from '../../modules/tasks/commands.ts'
import { applyEvent } from '../../src/actor/state.ts'
import { busy, editor, project, task, viewer } from './events.ts'
import { ruleOf, contextOf, folded, when, errorOf } from './given.ts'

const batch = (operations: object[]) =>
  ruleOf(batchProject, { id: project.id, operations: operations as never })
const create = { op: 'task.create', projectId: project.id, title: 'Plate' }
const finish = { op: 'task.update', id: task.id, status: 'DONE' }

test('each operation sees the changes of the previous operations, as if they were separate commands', () => {
  const state = folded(busy)
  const [context, sameContext] = [contextOf(editor), contextOf(editor)]
  const together = batch([{ ...create, as: 'new' }, { ...finish, id: '#new' }, finish])(state, context)
  const alone = folded(busy)
  const first = ruleOf(createTask, { projectId: project.id, title: 'Plate' })(alone, sameContext)
  applyEvent(alone, first.changes[0]!)
  const second = ruleOf(updateTask, { id: first.changes[0]!.entityId, status: 'DONE' })(alone, sameContext)
  applyEvent(alone, second.changes[0]!)
  const third = ruleOf(updateTask, { id: task.id, status: 'DONE' })(alone, sameContext)
  expect(together.changes).toEqual([...first.changes, ...second.changes, ...third.changes])
  expect(together.isBatch).toBeTrue()
  expect(state.version).toBe(busy.length)
})

test('a caller without the right to change a row gets 403, even if `was` differs from the row', () => {
  const guess = { ...finish, was: { title: 'Guess' } }
  when(viewer, batch([guess])).thenRejected(403, 'operations[0]: This needs the role EDITOR in the project')
  expect(errorOf(() => batch([guess])(folded(busy), contextOf(editor)))).toEqual({
    status: 409,
    message: 'operations[0]: The resource differs from "was" in: title',
  })
})
