import { describe, test } from 'bun:test'
import type { TaskRow } from '../../drizzle/rows.ts'
import { updateTask } from '../../modules/tasks/commands.ts'
import {
  admin,
  busy,
  editor,
  elsewhere,
  elsewhereCreated,
  elsewhereId,
  fact,
  invitedElsewhere,
} from './facts.ts'
import { owner, staffed, stranger, task, taskCreated, taskOf, viewer } from './facts.ts'
import { asking, given, now } from './given.ts'

const there = [elsewhereCreated, invitedElsewhere(editor, 'EDITOR'), invitedElsewhere(viewer, 'VIEWER')]
const move = (wanted: Partial<TaskRow> = {}, id = task.id) =>
  asking(updateTask, { ...wanted, id, projectId: elsewhereId })
const arrived = (fields: Partial<TaskRow> = {}) =>
  taskOf({ projectId: elsewhereId, number: 1, updatedAt: now, eventId: 'new-2', ...fields })
const leaving = (before: TaskRow = task) => fact('task.moved_out', 'task', before, null, { id: 'new-1' })
const arriving = (after: TaskRow) => fact('task.moved_in', 'task', null, after, { at: elsewhereId })

describe('moving a task', () => {
  test('is one fact in each project, and keeps the task', () => {
    given(busy, there).when(editor, move()).then(leaving(), arriving(arrived())).answering(arrived())
  })

  test('gives it the next number of the project it comes to', () => {
    const last = taskOf({ id: 'last', projectId: elsewhereId, number: 41 })
    given(busy, [...there, taskCreated(last)])
      .when(editor, move())
      .then(leaving(), arriving(arrived({ number: 42 })))
  })

  test('makes the wanted changes on the way', () => {
    const wanted = { title: 'Redraw', description: null, status: undefined }
    given(busy, there)
      .when(owner, move(wanted))
      .then(leaving(), arriving(arrived({ title: 'Redraw', description: null })))
  })

  test('keeps an assignee who is in both projects', () => {
    const mine = taskOf({ assigneeId: viewer })
    given([...staffed, taskCreated(mine)], there)
      .when(editor, move())
      .then(leaving(mine), arriving(arrived({ assigneeId: viewer })))
  })

  test('loses an assignee who is not in the other project', () => {
    const mine = taskOf({ assigneeId: admin })
    given([...staffed, taskCreated(mine)], there)
      .when(editor, move())
      .then(leaving(mine), arriving(arrived()))
  })

  test('takes a wanted assignee from the other project, and only from there', () => {
    const others = [...there, invitedElsewhere(stranger, 'VIEWER')]
    given(busy, others)
      .when(editor, move({ assigneeId: stranger }))
      .then(leaving(), arriving(arrived({ assigneeId: stranger })))
    given(busy, there)
      .when(editor, move({ assigneeId: admin }))
      .thenRefused(400, 'assigneeId must be the owner or a member of the project')
  })

  test('is refused to who is not in the other project, as if it did not exist', () => {
    given(busy, there).when(admin, move()).thenRefused(404, 'Project not found')
  })

  test('is refused to who only reads in the other project', () => {
    const others = [elsewhereCreated, invitedElsewhere(editor, 'VIEWER')]
    given(busy, others).when(editor, move()).thenRefused(403, 'This needs the role EDITOR in the project')
  })

  test('is refused to who only reads here', () => {
    const others = [elsewhereCreated, invitedElsewhere(viewer, 'EDITOR')]
    given(busy, others).when(viewer, move()).thenRefused(403, 'This needs the role EDITOR in the project')
  })

  test('is refused to a stranger here, who is told of the task and not of the project', () => {
    const others = [elsewhereCreated, invitedElsewhere(stranger, 'EDITOR')]
    given(busy, others).when(stranger, move()).thenRefused(404, 'Task not found')
  })

  test('is refused for a task that is not here', () => {
    given(busy, there).when(editor, move({}, 'nothing')).thenRefused(404, 'Task not found')
    given([...busy, leaving()], there)
      .when(editor, move())
      .thenRefused(404, 'Task not found')
  })

  test('is refused when the other project is gone', () => {
    const gone = fact('project.deleted', 'project', elsewhere, null, { at: elsewhereId })
    given(busy, [...there, gone])
      .when(owner, move())
      .thenRefused(404, 'Project not found')
  })
})
