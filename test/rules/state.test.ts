import fc from 'fast-check'
import { model } from '../../modules/modules.ts'
import type { MemberRow } from '../../drizzle/rows.ts'
import { updateTask } from '../../modules/tasks/commands.ts'
import { applyEvent, State } from '../../src/actor/state.ts'
import { type EventDraft, diff } from '../../src/model/events.ts'
import {
  busy,
  commentCreated,
  comment,
  eventOf,
  invited,
  memberOf,
  owner,
  project,
  stranger,
  subtask,
  subtaskCreated,
  task,
  taskCreated,
  taskOf,
  viewer,
  elsewhereId,
  staffed,
} from './events.ts'
import { ruleOf, contextOf, folded } from './given.ts'
import { cases, newId } from '../kit.ts'
import { invert, type UndoState } from '../../modules/undo/decide-undo.ts'
import type { LoggedEvent } from '../../src/log/undo-input.ts'

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)
const users = [viewer, stranger, ...upTo(3).map((n) => `user ${n}`)]
const invitations = users.map((user) => invited(user, 'VIEWER'))
const roles = users.map((user) => {
  const after: MemberRow = { ...memberOf(user, 'ADMIN'), eventId: 'later' }
  return eventOf('member.role_set', 'member', memberOf(user, 'VIEWER'), after)
})
const leavings = users.map((user) => eventOf('member.removed', 'member', memberOf(user, 'VIEWER'), null))
const renamed = { ...project, name: 'Wheels', eventId: 'later' }
const tasks = upTo(4).map((n) => taskOf({ id: `task ${n}`, number: n + 1 }))

const events: EventDraft[] = [
  ...[...invitations, ...roles, ...leavings, subtaskCreated(), commentCreated(), ...tasks.map(taskCreated)],
  ...tasks.map((row) => eventOf('task.updated', 'task', row, { ...row, title: 'Redraw', eventId: 'later' })),
  ...tasks.map((row) => eventOf('task.deleted', 'task', row, null)),
  eventOf('task.moved_in', 'task', null, taskOf({ number: 9 })),
  ...[
    eventOf('project.updated', 'project', project, renamed),
    eventOf('project.deleted', 'project', project, null),
  ],
]
const histories = fc.array(fc.constantFrom(...events), { maxLength: 30 })

function contentOf(state: State) {
  const ids = [...tasks, task, subtask, comment].map(({ id }) => id)
  const { version, lastNumber, lastEventId, bytes } = state
  return {
    ...{ version, lastNumber, lastEventId, bytes, project: state.project },
    memberCount: state.all('member').length,
    members: [...users, owner].map((user) => [
      ...[state.memberOf(user), state.row('member', `${user}-in`), state.roleOf(user)],
    ]),
    rows: model.byRow.map((entity) => ids.map((id) => [state.row(entity, id), state.isLoaded(entity, id)])),
  }
}

test('events applied to a fork change the fork and not the original state', () => {
  const property = fc.property(histories, histories, histories, (first, second, third) => {
    const state = folded([...busy, ...first])
    const before = contentOf(state)
    const fork = second.reduce(applyEvent, state.fork())
    const forked = contentOf(fork)
    const further = third.reduce(applyEvent, fork.fork())
    expect(contentOf(state)).toEqual(before)
    expect(contentOf(fork)).toEqual(forked)
    expect(forked).toEqual(contentOf(folded([...busy, ...first, ...second])))
    expect(contentOf(further)).toEqual(contentOf(folded([...busy, ...first, ...second, ...third])))
  })
  fc.assert(property, { numRuns: cases(100) })
})

test('a rule sees the events that were applied to its fork', () => {
  const state = folded(busy)
  const fork = state.fork()
  const change = (title: string) => ruleOf(updateTask, { id: task.id, title })
  applyEvent(fork, change('Redraw')(fork, contextOf(owner)).changes[0]!)
  expect(change('Redraw')(fork, contextOf(owner)).changes).toEqual([])
  expect(change('Redraw')(state, contextOf(owner)).changes).toHaveLength(1)
})

test('the cost of a fork does not depend on the number of rows in memory', () => {
  const state = folded([...busy, ...upTo(50_000).map((n) => taskCreated(taskOf({ id: `t${n}`, number: n })))])
  // If each fork copied all rows, the test would exceed its time limit.
  for (const n of upTo(100_000)) expect(state.fork().row('task', `t${n % 50_000}`)).toBeDefined()
})

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

test('an undo rejects a subtask id that now belongs to another task', () => {
  const [projectId, taskId, id] = [newId(), newId(), newId()]
  const row = { id, taskId, title: 'Same', completed: false }
  const event = {
    ...{ id: newId(), projectId, seq: 4, type: 'subtask.updated', entity: 'subtask', entityId: id, taskId },
    ...{ before: { ...row, title: 'First' }, after: row },
  } as unknown as LoggedEvent
  const stateWith = (own: string) => {
    const state = new State(projectId, 5, 1, newId())
    state.put('task', taskId, { id: taskId, projectId } as never)
    state.put('subtask', id, { ...row, taskId: own } as never)
    const context = { now: '2027-01-31T17:00:00.000Z', newEventId: newId, caller: { userId: newId() } }
    return { state, context, undo: { events: [event], pendingEvents: [] } } as unknown as UndoState
  }
  expect(invert('subtask.updated', event, stateWith(taskId)).after).toMatchObject({ title: 'First' })
  expect(() => invert('subtask.updated', event, stateWith(newId()))).toThrow('Seq 4 cannot be undone')
})
