import { expect, test } from 'bun:test'
import { diff } from '../../src/model/events.ts'
import { busy, elsewhereId, eventOf, memberOf } from './events.ts'
import { staffed, subtask, task, taskOf, viewer } from './events.ts'
import { folded } from './given.ts'

test('member.role_set and member.removed change the state of a member immediately', () => {
  const [was, is] = [memberOf(viewer, 'VIEWER'), memberOf(viewer, 'ADMIN')]
  const promoted = [...staffed, eventOf('member.role_set', 'member', was, is)]
  expect(folded(promoted).roleOf(viewer)).toBe('ADMIN')
  const state = folded([...promoted, eventOf('member.removed', 'member', is, null)])
  expect(state.roleOf(viewer)).toBeNull()
  expect([state.row('member', is.id), state.memberOf(viewer), state.all('member').length]).toEqual([
    undefined,
    undefined,
    2,
  ])
})

test('a task that moves back has no cached subtasks', () => {
  const there = taskOf({ projectId: elsewhereId })
  const events = [...busy, eventOf('task.moved_out', 'task', task, null)]
  const back = eventOf('task.moved_in', 'task', null, { ...there, projectId: task.projectId, number: 2 })
  const state = folded([...events, back])
  expect(state.row('subtask', subtask.id)).toBeUndefined()
  expect(state.row('task', task.id)?.number).toBe(2)
  expect(state.lastNumber).toBe(2)
})

test('diff returns only the fields that change', () => {
  expect(diff({ a: 1, b: null }, { a: 1, b: null })).toBeNull()
  expect(diff<{ a: number; b: string | null }>({ a: 1, b: 'x' }, { a: undefined, b: null })).toEqual({
    b: null,
  })
})
