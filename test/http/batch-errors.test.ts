import { expectError, faultsOf, invite, make, newId, openUndoScene, register, unknownId } from '../kit.ts'
import { upTo } from '../kit.ts'
import type { Body } from '../kit.ts'
import { newTask } from './batch-scene.ts'

let project: Body
let task: Body
const scene = await openUndoScene()
const { ada, bea, batch, events } = scene
beforeEach(async () => void ({ project, task } = await scene.setUp()))

test("an invalid operation rejects the whole batch with the operation's error and index", async () => {
  await invite(ada, project.id, bea, 'VIEWER')
  const otherProject = await make(ada, '/projects', { name: 'Q' })
  const otherTask = await make(ada, '/tasks', { title: 'T', projectId: otherProject.id })
  const otherSubtask = await make(ada, `/tasks/${otherTask.id}/subtasks`, { title: 'S' })
  const before = await events()
  const title = 'a text of 1 to 500 characters, without control or bidirectional-override characters'
  const move = 'projectId must be the project of the batch; a batch cannot move a task to another project'
  const reference = 'taskId must be an id, or the #name of an earlier operation'
  const changed = 'The resource has changed: If-Match does not contain its current ETag'
  const update = (fields: object) => ({ op: 'task.update', id: task.id, ...fields })
  const assigned = newTask('X', { assigneeId: unknownId })
  const invalid: [status: number, message: string, operation: object][] = [
    [400, `title is required: ${title}`, { op: 'task.create' }],
    [400, 'titel is not known here; did you mean title?', newTask('X', { titel: 'X' })],
    [400, 'assigneeId must be the owner or a member of the project', assigned],
    [400, move, newTask('X', { projectId: otherProject.id })],
    [400, move, update({ projectId: otherProject.id })],
    [400, reference, { op: 'subtask.create', taskId: '#other', title: 'S' }],
    [400, '"as" must be a name that no earlier operation has', newTask('X', { as: 'ok' })],
    [400, 'was.titel is not known here; did you mean title?', update({ was: { titel: 'T' } })],
    [404, 'Task not found', { op: 'task.update', id: otherTask.id, title: 'X' }],
    [404, 'Task not found', { op: 'task.delete', id: 'nothing' }],
    [404, 'Subtask not found', { op: 'subtask.toggle', id: otherSubtask.id }],
    [404, 'Subtask not found', { op: 'subtask.toggle', id: '#ok' }],
    [404, 'Comment not found', { op: 'comment.delete', id: unknownId }],
    [404, 'Member not found', { op: 'member.remove', memberId: unknownId }],
    [404, 'User not found', { op: 'member.invite', email: 'nobody@example.com' }],
    [409, 'This user is a member already', { op: 'member.invite', email: bea.email }],
    [
      409,
      'The resource differs from "was" in: status, title',
      update({ was: { status: 'DONE', title: 'U', number: 1 } }),
    ],
    [412, changed, { op: 'task.delete', id: task.id, ifMatch: '"other"' }],
  ]
  for (const [status, message, operation] of invalid) {
    const response = await batch([newTask('Fine', { as: 'ok' }), operation, newTask('After')])
    expectError(response, status, `operations[1]: ${message}`)
  }
  for (const op of ['project.create', 'project.delete', 'task.unassign', 'project.batch', '__proto__', 7])
    expectError(await batch([{ op, name: 'X' }]), 400, /^operations\[0\]: op must be the name of a command/)
  for (const operation of [null, 7, 'task.create', []])
    expectError(
      await batch([operation as never]),
      400,
      'operations[0]: The operation must be an object with the field op',
    )
  const byViewer = await batch([newTask('X')], {}, '', {}, bea)
  expectError(byViewer, 403, 'operations[0]: This needs the role EDITOR in the project')
  const byStranger = await batch([newTask('X')], {}, '', {}, await register(scene.client))
  expectError(byStranger, 404, 'Project not found')
  expect(await events()).toEqual(before)
})

test('a member who is removed in a batch cannot be invited in the same batch', async () => {
  const { id: memberId } = await invite(ada, project.id, bea)
  const message = 'operations[1]: A member removed in a batch cannot be invited again in the same batch'
  const operations = [
    { op: 'member.remove', memberId },
    { op: 'member.invite', email: bea.email },
  ]
  expectError(await batch(operations), 409, message)
})

test('a query parameter with an unknown value is rejected with 400 and the allowed values', async () => {
  for (const query of ['?dryRun=1', '?dryRun=yes', '?dryRun='])
    expectError(await batch([newTask('X')], {}, query), 400, /^dryRun must be one of true, false$/)
  expectError(await scene.undo({ seq: 2 }, ada, '?dryRun='), 400, /^dryRun must be one of true, false$/)
  const returned = await batch([newTask('X')], {}, '?return=x')
  expectError(returned, 400, /^return must be one of minimal, full$/)
  expectError(await batch([newTask('X')], {}, '?dry=true'), 400, /^dry is not known here/)
})

test('a batch cannot use the ids of rows that it deleted, or of their children, again', async () => {
  const taken = 'This id is already used; send a new UUIDv7'
  const [taskId, id] = [newId(), newId()]
  const creates = (parentId: string) => [
    { op: 'task.create', id, title: 'Own' },
    { op: 'subtask.create', id, taskId: parentId, title: 'Own' },
    { op: 'comment.create', id, taskId: parentId, text: 'Own' },
  ]
  const createParent = { op: 'task.create', id: taskId, title: 'Parent' }
  const deleteParent = { op: 'task.delete', id: taskId }
  for (const create of creates(taskId))
    for (const remove of [{ op: create.op.replace('create', 'delete'), id }, deleteParent])
      for (const second of creates(task.id)) {
        const operations = [createParent, create, remove, second]
        expectError(await batch(operations), 409, `operations[3]: ${taken}`)
      }
  expectError(await batch([createParent, deleteParent, createParent]), 409, `operations[2]: ${taken}`)
})

test('the id of a row that was deleted in the same group commit cannot be used again', async () => {
  for (const _ of upTo(20)) {
    const id = newId()
    const body = { id, title: 'Own', projectId: project.id }
    const withLookup = newTask('Its own id is looked up, as for the creates', { id: newId() })
    const [created, deleted, second] = await Promise.all([
      ada.post('/tasks', body),
      batch([withLookup, { op: 'task.delete', id }]),
      ada.post('/tasks', body),
    ])
    if (deleted.status === 200) expect([created.status, second.status].sort()).toEqual([201, 409])
  }
  expect(await faultsOf(scene.sql)).toEqual([])
})
