import { describe, test } from 'bun:test'
import {
  createSubtask,
  deleteSubtask,
  toggleSubtask,
  updateSubtask,
} from '../../modules/subtasks/commands.ts'
import { busy, editor, eventOf, stranger, subtask, task, viewer } from './given-events.ts'
import { ruleOf, when, now, type Rule, testRejections } from './given.ts'
import { rejectedOnceDeleted, rejectedWithoutTask } from './missing-rows.ts'

const { id } = subtask
const add = (taskId: string) => ruleOf(createSubtask, { taskId, title: 'Saw' })
const toggle = ruleOf(toggleSubtask, { id })
const change = (wanted: { title?: string; completed?: boolean }) => ruleOf(updateSubtask, { ...wanted, id })
const remove = ruleOf(deleteSubtask, { id })
const each: Record<string, Rule> = { toggle, change: change({ title: 'X' }), remove }
const gone = eventOf('subtask.deleted', 'subtask', subtask, null)

describe('adding a subtask', () => {
  test('creates an open subtask of the task', () => {
    const fields = { id: 'new-1', taskId: task.id, title: 'Saw', completed: false }
    const after = { ...fields, createdAt: now, eventId: 'new-2' }
    when(editor, add(task.id))
      .then(eventOf('subtask.created', 'subtask', null, after))
      .answering(after)
  })

  test('is rejected with 404 for a missing or deleted task', () => rejectedWithoutTask(add))
})

describe('toggling a subtask', () => {
  test('completes an open subtask and opens a completed one', () => {
    const done = { ...subtask, completed: true, eventId: 'new-1' }
    const toggled = eventOf('subtask.toggled', 'subtask', subtask, done)
    when(editor, toggle).then(toggled).answering(done)
    when(editor, toggle, [...busy, toggled]).then(
      eventOf('subtask.toggled', 'subtask', done, { ...done, completed: false }),
    )
  })
})

describe('changing a subtask', () => {
  test('sets the given fields and keeps the other fields', () => {
    const after = { ...subtask, completed: true, eventId: 'new-1' }
    when(editor, change({ completed: true, title: undefined }))
      .then(eventOf('subtask.updated', 'subtask', subtask, after))
      .answering(after)
  })

  test('commits no event if no field changes', () => {
    when(editor, change({ title: subtask.title, completed: false })).thenNoEvents(subtask)
  })
})

describe('deleting a subtask', () => {
  test('commits subtask.deleted', () => {
    when(editor, remove).then(gone).answering(undefined)
  })
})

describe('every change of a subtask', () => {
  for (const [name, rule] of Object.entries(each)) {
    test(`${name} is rejected with 404 if the subtask, its task or its project is deleted`, () =>
      rejectedOnceDeleted(rule, gone, 'Subtask not found'))

    testRejections(busy, {
      [`with 404 for a VIEWER after the subtask is deleted: ${name}`]: [
        viewer,
        rule,
        '404 Subtask not found',
        [...busy, gone],
      ],
      [`with 404 for the subtask if the caller is not a member: ${name}`]: [
        stranger,
        rule,
        '404 Subtask not found',
      ],
    })
  }
})
