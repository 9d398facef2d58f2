import { beforeEach, expect, test } from 'bun:test'
import { newId } from '../../src/ids.ts'
import { upTo } from '../races/pair.ts'
import { type Body, invite, make, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { unknownId, expectError } from './responses.ts'
import { createOperation } from './batch-scene.ts'
import { openUndoScene } from './undo-scene.ts'

let project: Body
let task: Body
const scene = await openUndoScene()
const { ada, bea, batch, events } = scene
beforeEach(async () => void ({ project, task } = await scene.furnish()))

test('the first refusal refuses all, in its own words and with its number', async () => {
  await invite(ada, project.id, bea, 'VIEWER')
  const elsewhere = await make(ada, '/projects', { name: 'Q' })
  const theirs = await make(ada, '/tasks', { title: 'T', projectId: elsewhere.id })
  const step = await make(ada, `/tasks/${theirs.id}/subtasks`, { title: 'S' })
  const before = await events()
  const title = 'a text of 1 to 500 characters, without control or bidirectional-override characters'
  const alone = 'projectId must be the project of the batch: a task moves to another one alone'
  const named = 'taskId must be an id, or the #name of an operation before'
  const changed = 'The resource has changed: its ETag is not the one in If-Match'
  const update = (others: object) => ({ op: 'task.update', id: task.id, ...others })
  const wrong: [status: number, message: string, operation: object][] = [
    [400, `title is required: ${title}`, { op: 'task.create' }],
    [400, 'titel is not known here; did you mean title?', createOperation('X', { titel: 'X' })],
    [
      400,
      'assigneeId must be the owner or a member of the project',
      createOperation('X', { assigneeId: unknownId }),
    ],
    [400, alone, createOperation('X', { projectId: elsewhere.id })],
    [400, alone, update({ projectId: elsewhere.id })],
    [400, named, { op: 'subtask.create', taskId: '#other', title: 'S' }],
    [400, 'as must be a name that no operation before has', createOperation('X', { as: 'ok' })],
    [400, 'was.titel is not known here; did you mean title?', update({ was: { titel: 'T' } })],
    [404, 'Task not found', { op: 'task.update', id: theirs.id, title: 'X' }],
    [404, 'Task not found', { op: 'task.delete', id: 'nothing' }],
    [404, 'Subtask not found', { op: 'subtask.toggle', id: step.id }],
    [404, 'Subtask not found', { op: 'subtask.toggle', id: '#ok' }],
    [404, 'Comment not found', { op: 'comment.delete', id: unknownId }],
    [404, 'Member not found', { op: 'member.remove', memberId: unknownId }],
    [404, 'User not found', { op: 'member.invite', email: 'nobody@example.com' }],
    [409, 'This user is a member already', { op: 'member.invite', email: bea.email }],
    [409, 'Not as in was: status, title', update({ was: { status: 'DONE', title: 'U', number: 1 } })],
    [412, changed, { op: 'task.delete', id: task.id, ifMatch: '"other"' }],
  ]
  for (const [status, message, operation] of wrong) {
    const answer = await batch([createOperation('Fine', { as: 'ok' }), operation, createOperation('After')])
    expectError(answer, status, `operations[1]: ${message}`)
  }
  for (const op of ['project.create', 'project.delete', 'task.unassign', 'project.batch', '__proto__', 7])
    expectError(await batch([{ op, name: 'X' }]), 400, /^operations\[0\]: op must be the name of a command/)
  for (const one of [null, 7, 'task.create', []])
    expectError(await batch([one as never]), 400, /^operations\[0\]: op must be the name of a command$/)
  const byViewer = await batch([createOperation('X')], {}, '', {}, bea)
  expectError(byViewer, 403, 'operations[0]: This needs the role EDITOR in the project')
  const stranger = await register(scene.client)
  expectError(await batch([createOperation('X')], {}, '', {}, stranger), 404, 'Project not found')
  expect(await events()).toEqual(before)
})

test('who is removed in a batch is not invited again in it', async () => {
  const { id: memberId } = await invite(ada, project.id, bea)
  const again = { op: 'member.invite', email: bea.email }
  const message = 'operations[1]: Who is removed in a batch cannot be invited again in it'
  expectError(await batch([{ op: 'member.remove', memberId }, again]), 409, message)
})

test('a choice that is none of those there are is refused naming them', async () => {
  for (const query of ['?dryRun=1', '?dryRun=yes', '?dryRun='])
    expectError(await batch([createOperation('X')], {}, query), 400, /^dryRun must be one of true, false$/)
  expectError(await scene.undo({ seq: 2 }, ada, '?dryRun='), 400, /^dryRun must be one of true, false$/)
  expectError(
    await batch([createOperation('X')], {}, '?return=x'),
    400,
    /^return must be one of minimal, full$/,
  )
  expectError(await batch([createOperation('X')], {}, '?dry=true'), 400, /^dry is not known here/)
})

const taken = 'This id is taken: what is created needs a new one'

test('what was made and is gone keeps its id, within one batch too, and all that hung on it', async () => {
  const [taskId, id] = [newId(), newId()]
  const made: Record<string, object> = {
    task: { op: 'task.create', id, title: 'Own' },
    subtask: { op: 'subtask.create', id, taskId, title: 'Own' },
    comment: { op: 'comment.create', id, taskId, text: 'Own' },
  }
  const place = { op: 'task.create', id: taskId, title: 'Place' }
  const away = { op: 'task.delete', id: taskId }
  for (const [what, one] of Object.entries(made))
    for (const other of Object.values(made)) {
      const gone = { op: `${what}.delete`, id }
      expectError(await batch([place, one, gone, other]), 409, `operations[3]: ${taken}`)
      if (what === 'task') continue
      const elsewhere = other === made.task ? other : { ...other, taskId: task.id }
      expectError(await batch([place, one, away, elsewhere]), 409, `operations[3]: ${taken}`)
    }
  expectError(await batch([place, away, place]), 409, `operations[2]: ${taken}`)
})

test('what was made and is gone keeps its id among writes that are committed together', async () => {
  for (const _ of upTo(20)) {
    const id = newId()
    const body = { id, title: 'Own', projectId: project.id }
    const waiting = createOperation('So that it waits for what is looked up as they do', { id: newId() })
    const [made, gone, again] = await Promise.all([
      ada.post('/tasks', body),
      batch([waiting, { op: 'task.delete', id }]),
      ada.post('/tasks', body),
    ])
    if (gone.status === 200) expect([made.status, again.status].sort()).toEqual([201, 409])
  }
  expect(await faultsOf(scene.sql)).toEqual([])
})
