import { expect, test } from 'bun:test'
import { differing } from '../../src/model/events.ts'
import { admin, busy, editor, elsewhereId, fact, memberOf, owner, project, projectGone } from './facts.ts'
import { staffed, stranger, subtask, task, taskCreated, taskOf, viewer } from './facts.ts'
import { folded } from './given.ts'

test('every fact takes the next version', () => {
  expect(folded([]).version).toBe(0)
  expect(folded(busy).version).toBe(busy.length)
  expect(folded([...busy, projectGone]).version).toBe(busy.length + 1)
})

test('everybody stands where the facts put them', () => {
  const state = folded(staffed)
  const roles = [owner, admin, editor, viewer, stranger].map((user) => state.roleOf(user))
  expect(roles).toEqual(['OWNER', 'ADMIN', 'EDITOR', 'VIEWER', null])
  expect(state.memberCount).toBe(3)
})

test('nobody stands in a project that is not there', () => {
  expect(folded([]).roleOf(owner)).toBeNull()
  expect(folded([...staffed, projectGone]).roleOf(owner)).toBeNull()
  expect(folded([...staffed, projectGone]).roleOf(admin)).toBeNull()
})

test('a role counts from the fact that sets it, and a member is gone with the fact that removes them', () => {
  const [was, is] = [memberOf(viewer, 'VIEWER'), memberOf(viewer, 'ADMIN')]
  const promoted = [...staffed, fact('member.role_set', 'member', was, is)]
  expect(folded(promoted).roleOf(viewer)).toBe('ADMIN')
  const state = folded([...promoted, fact('member.removed', 'member', is, null)])
  expect(state.roleOf(viewer)).toBeNull()
  expect([state.row('member', is.id), state.memberOf(viewer), state.memberCount]).toEqual([
    undefined,
    undefined,
    2,
  ])
})

test('a row is what its last fact left', () => {
  const after = { ...task, title: 'Redraw', eventId: 'later' }
  expect(folded(busy).row('task', task.id)).toEqual(task)
  expect(folded([...busy, fact('task.updated', 'task', task, after)]).row('task', task.id)).toEqual(after)
  expect(folded([...busy, fact('task.deleted', 'task', task, null)]).row('task', task.id)).toBeUndefined()
  expect(folded(busy).project).toEqual(project)
})

test('the last number is the highest one given, and never goes back', () => {
  expect(folded(staffed).lastNumber).toBe(0)
  const high = taskOf({ id: 'high', number: 9 })
  const facts = [...busy, taskCreated(high), fact('task.updated', 'task', task, task)]
  expect(folded(facts).lastNumber).toBe(9)
  expect(folded([...facts, fact('task.deleted', 'task', high, null)]).lastNumber).toBe(9)
})

test('a task that comes back is not believed to have the subtasks it left with', () => {
  const there = taskOf({ projectId: elsewhereId })
  const facts = [...busy, fact('task.moved_out', 'task', task, null)]
  const back = fact('task.moved_in', 'task', null, { ...there, projectId: task.projectId, number: 2 })
  const state = folded([...facts, back])
  expect(state.row('subtask', subtask.id)).toBeUndefined()
  expect(state.row('task', task.id)?.number).toBe(2)
  expect(state.lastNumber).toBe(2)
})

test('only wanted values that differ are a difference', () => {
  expect(differing({ a: 1, b: null }, { a: 1, b: null })).toBeNull()
  expect(differing<{ a: number; b: string | null }>({ a: 1, b: 'x' }, { a: undefined, b: null })).toEqual({
    b: null,
  })
})
