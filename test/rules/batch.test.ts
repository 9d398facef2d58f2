import { expect, test } from 'bun:test'
import { batchProject } from '../../modules/commands.ts'
import { createTask, updateTask } from '../../modules/tasks/commands.ts'
import { evolve } from '../../src/actor/state.ts'
import { busy, comment, editor, eventOf, project, stranger, task, taskOf, viewer } from './given-events.ts'
import { ruleOf, contextOf, folded, when, errorOf } from './given.ts'

const batch = (operations: object[], others: object = {}) =>
  ruleOf(batchProject, { id: project.id, operations: operations as never, ...others })
const create = { op: 'task.create', projectId: project.id, title: 'Plate' }
const finish = { op: 'task.update', id: task.id, status: 'DONE' }

test('each operation sees the changes of the previous operations, as if they were separate commands', () => {
  const state = folded(busy)
  const [context, sameContext] = [contextOf(editor), contextOf(editor)]
  const together = batch([{ ...create, as: 'new' }, { ...finish, id: '#new' }, finish])(state, context)
  const alone = folded(busy)
  const first = ruleOf(createTask, { projectId: project.id, title: 'Plate' })(alone, sameContext)
  evolve(alone, first.changes[0]!)
  const second = ruleOf(updateTask, { id: first.changes[0]!.entityId, status: 'DONE' })(alone, sameContext)
  evolve(alone, second.changes[0]!)
  const third = ruleOf(updateTask, { id: task.id, status: 'DONE' })(alone, sameContext)
  expect(together.changes).toEqual([...first.changes, ...second.changes, ...third.changes])
  expect(together.isBatch).toBeTrue()
  expect(state.version).toBe(busy.length)
})

test('returns the version and the id, ETag and number of each changed row', () => {
  const { answer } = batch([create, finish, { op: 'comment.delete', id: comment.id }])(
    folded(busy),
    contextOf(editor),
  )
  expect(answer).toEqual({
    version: busy.length + 3,
    results: [
      { id: 'new-1', etag: '"new-2"', number: 2 },
      { id: task.id, etag: '"new-3"', number: 1 },
      { id: comment.id, etag: null },
    ],
  })
})

test('a dry run returns no events', () => {
  const decision = batch([create], { dryRun: 'true' })(folded(busy), contextOf(editor))
  expect(decision.changes).toEqual([])
  expect(decision.answer).toMatchObject({ version: busy.length })
})

test('checks rights for each operation and prefixes the error with the index of the operation', () => {
  when(stranger, batch([create])).thenRejected(404, 'Project not found')
  when(viewer, batch([create])).thenRejected(403, 'operations[0]: This needs the role EDITOR in the project')
  const other = eventOf('task.created', 'task', null, taskOf({ id: 'far', projectId: 'other' }))
  when(editor, batch([create, { ...finish, id: 'far' }]), [...busy, other]).thenRejected(
    404,
    'operations[1]: Task not found',
  )
})

test('a caller without the right to change a row gets 403, even if `was` differs from the row', () => {
  const guess = { ...finish, was: { title: 'Guess' } }
  when(viewer, batch([guess])).thenRejected(403, 'operations[0]: This needs the role EDITOR in the project')
  expect(errorOf(() => batch([guess])(folded(busy), contextOf(editor)))).toEqual({
    status: 409,
    message: 'operations[0]: The resource differs from "was" in: title',
  })
})
