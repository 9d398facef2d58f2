import { describe, test } from 'bun:test'
import type { Static } from '@sinclair/typebox'
import { createTask, deleteTask, updateTask } from '../../modules/tasks/commands.ts'
import type { CreateTask, UpdateTask } from '../../modules/tasks/schema.ts'
import { busy, editor, elsewhereId, fact, owner, projectCreated, projectGone, projectId } from './facts.ts'
import { staffed, stranger, task, taskCreated, taskOf, viewer } from './facts.ts'
import { asking, given, now } from './given.ts'

const unassignable = 'assigneeId must be the owner or a member of the project'
const wanted = {
  title: 'Cast',
  description: null,
  status: 'IN_PROGRESS',
  priority: 'HIGH',
  dueDate: null,
  assigneeId: null,
} as const
const create = (fields: Partial<Static<typeof CreateTask>> = {}) =>
  asking(createTask, { projectId, ...wanted, ...fields })
const change = (fields: Partial<Static<typeof UpdateTask>>, id = task.id) =>
  asking(updateTask, { ...fields, id })
const remove = asking(deleteTask, { id: task.id })

describe('creating a task', () => {
  const first = {
    ...wanted,
    id: 'new-1',
    projectId,
    number: 1,
    createdAt: now,
    updatedAt: now,
    eventId: 'new-2',
  }

  test('gives no id that another had which is gone', () => {
    given([...staffed, taskCreated(), fact('task.deleted', 'task', task, null)])
      .when(editor, create({ id: task.id }))
      .thenRefused(409, 'This id is taken: what is created needs a new one')
  })

  test('gives the first one the number 1', () => {
    given(staffed)
      .when(editor, create())
      .then(fact('task.created', 'task', null, first))
      .answering(first)
  })

  test('counts on from the highest number ever given, also when that task is gone', () => {
    const last = taskOf({ id: 'last', number: 7 })
    given([...busy, taskCreated(last), fact('task.deleted', 'task', last, null)])
      .when(owner, create())
      .then(fact('task.created', 'task', null, { ...first, number: 8 }))
  })

  test('assigns it to the owner or to a member, whatever their role', () => {
    for (const assigneeId of [owner, viewer]) {
      given(staffed)
        .when(editor, create({ assigneeId }))
        .then(fact('task.created', 'task', null, { ...first, assigneeId }))
    }
  })

  test('is refused with an assignee from outside', () => {
    given(staffed)
      .when(editor, create({ assigneeId: stranger }))
      .thenRefused(400, unassignable)
  })

  test('is refused in a project that is gone', () => {
    given([projectCreated, projectGone]).when(owner, create()).thenRefused(404, 'Project not found')
  })
})

describe('changing a task', () => {
  test('sets what is wanted, keeps the rest, and says when', () => {
    const after = { ...task, status: 'DONE', dueDate: null, updatedAt: now, eventId: 'new-1' } as const
    given(busy)
      .when(editor, change({ status: 'DONE', dueDate: null, title: task.title, priority: undefined }))
      .then(fact('task.updated', 'task', task, after))
      .answering(after)
  })

  test('assigns it to a member and takes it away again', () => {
    const assigned = taskOf({ assigneeId: viewer, eventId: 'new-1', updatedAt: now })
    given(busy)
      .when(editor, change({ assigneeId: viewer }))
      .then(fact('task.updated', 'task', task, assigned))
    given([...staffed, taskCreated(assigned)])
      .when(editor, change({ assigneeId: null }))
      .then(fact('task.updated', 'task', assigned, { ...assigned, assigneeId: null }))
  })

  test('is nothing when nothing differs', () => {
    const { title, description, status } = task
    given(busy).when(editor, change({ title, description, status })).thenNothing(task)
    given(busy).when(editor, change({})).thenNothing(task)
  })

  test('is refused with an assignee from outside', () => {
    given(busy)
      .when(editor, change({ assigneeId: stranger, title: 'X' }))
      .thenRefused(400, unassignable)
  })

  test('is refused for a task that is not here', () => {
    given(busy)
      .when(editor, change({ title: 'X' }, 'nothing'))
      .thenRefused(404, 'Task not found')
  })

  test('is refused for a task of another project', () => {
    given([...staffed, taskCreated(taskOf({ projectId: elsewhereId }))].map((one) => ({ ...one, projectId })))
      .when(editor, change({ title: 'X' }))
      .thenRefused(404, 'Task not found')
  })
})

describe('deleting a task', () => {
  const gone = fact('task.deleted', 'task', task, null)

  test('is one fact, whatever hangs on it', () => {
    given(busy).when(editor, remove).then(gone).answering(undefined)
  })

  test('is refused the second time', () => {
    given([...busy, gone])
      .when(editor, remove)
      .thenRefused(404, 'Task not found')
  })

  test('is refused when the project is gone', () => {
    given([...busy, projectGone])
      .when(owner, remove)
      .thenRefused(404, 'Task not found')
  })
})
