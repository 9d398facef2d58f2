import { describe, test } from 'bun:test'
import type { Static } from '@sinclair/typebox'
import { createTask, deleteTask, updateTask } from '../../modules/tasks/commands.ts'
import type { CreateTask, UpdateTask } from '../../modules/tasks/schema.ts'
import {
  busy,
  editor,
  elsewhereId,
  eventOf,
  owner,
  projectCreated,
  projectDeleted,
  projectId,
} from './given-events.ts'
import { staffed, stranger, task, taskCreated, taskOf, viewer } from './given-events.ts'
import { ruleOf, when, now, testRejections } from './given.ts'

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
  ruleOf(createTask, { projectId, ...wanted, ...fields })
const change = (fields: Partial<Static<typeof UpdateTask>>, id = task.id) =>
  ruleOf(updateTask, { ...fields, id })
const remove = ruleOf(deleteTask, { id: task.id })

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

  testRejections(staffed, {
    'with the id of a deleted task': [
      editor,
      create({ id: task.id }),
      '409 This id is already used; send a new UUIDv7',
      [...staffed, taskCreated(), eventOf('task.deleted', 'task', task, null)],
    ],
    'with an assignee who is not a member': [editor, create({ assigneeId: stranger }), `400 ${unassignable}`],
    'in a deleted project': [owner, create(), '404 Project not found', [projectCreated, projectDeleted]],
  })

  test('gives the first task the number 1', () => {
    when(editor, create(), staffed)
      .then(eventOf('task.created', 'task', null, first))
      .answering(first)
  })

  test('never reuses the number of a deleted task', () => {
    const last = taskOf({ id: 'last', number: 7 })
    when(owner, create(), [...busy, taskCreated(last), eventOf('task.deleted', 'task', last, null)]).then(
      eventOf('task.created', 'task', null, { ...first, number: 8 }),
    )
  })

  test('accepts the owner or a member with any role as assignee', () => {
    for (const assigneeId of [owner, viewer]) {
      when(editor, create({ assigneeId }), staffed).then(
        eventOf('task.created', 'task', null, { ...first, assigneeId }),
      )
    }
  })
})

describe('changing a task', () => {
  test('sets the given fields and updatedAt, and keeps the other fields', () => {
    const after = { ...task, status: 'DONE', dueDate: null, updatedAt: now, eventId: 'new-1' } as const
    when(editor, change({ status: 'DONE', dueDate: null, title: task.title, priority: undefined }))
      .then(eventOf('task.updated', 'task', task, after))
      .answering(after)
  })

  test('assigns a task to a member and unassigns it with null', () => {
    const assigned = taskOf({ assigneeId: viewer, eventId: 'new-1', updatedAt: now })
    when(editor, change({ assigneeId: viewer })).then(eventOf('task.updated', 'task', task, assigned))
    when(editor, change({ assigneeId: null }), [...staffed, taskCreated(assigned)]).then(
      eventOf('task.updated', 'task', assigned, { ...assigned, assigneeId: null }),
    )
  })

  test('commits no event if no field changes', () => {
    const { title, description, status } = task
    when(editor, change({ title, description, status })).thenNoEvents(task)
    when(editor, change({})).thenNoEvents(task)
  })

  testRejections(busy, {
    'with an assignee who is not a member': [
      editor,
      change({ assigneeId: stranger, title: 'X' }),
      `400 ${unassignable}`,
    ],
    'for a missing task': [editor, change({ title: 'X' }, 'nothing'), '404 Task not found'],
    'for a task of another project': [
      editor,
      change({ title: 'X' }),
      '404 Task not found',
      [...staffed, taskCreated(taskOf({ projectId: elsewhereId }))].map((one) => ({ ...one, projectId })),
    ],
  })
})

describe('deleting a task', () => {
  const gone = eventOf('task.deleted', 'task', task, null)

  test('commits one event, even if the task has children', () => {
    when(editor, remove).then(gone).answering(undefined)
  })

  testRejections(busy, {
    'if the task is already deleted': [editor, remove, '404 Task not found', [...busy, gone]],
    'in a deleted project': [owner, remove, '404 Task not found', [...busy, projectDeleted]],
  })
})
