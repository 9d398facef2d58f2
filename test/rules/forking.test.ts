import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { model } from '../../modules/modules.ts'
import type { MemberRow } from '../../drizzle/rows.ts'
import { updateTask } from '../../modules/tasks/commands.ts'
import { evolve, type State } from '../../src/actor/state.ts'
import type { EventDraft } from '../../src/model/events.ts'
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
} from './events.ts'
import { subtask, subtaskCreated, task, taskCreated, taskOf, viewer } from './events.ts'
import { ruleOf, contextOf, folded } from './given.ts'
import { cases } from '../support/depth.ts'

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
    const fork = second.reduce(evolve, state.fork())
    const forked = contentOf(fork)
    const further = third.reduce(evolve, fork.fork())
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
  evolve(fork, change('Redraw')(fork, contextOf(owner)).changes[0]!)
  expect(change('Redraw')(fork, contextOf(owner)).changes).toEqual([])
  expect(change('Redraw')(state, contextOf(owner)).changes).toHaveLength(1)
})

test('the cost of a fork does not depend on the number of rows in memory', () => {
  const state = folded([...busy, ...upTo(50_000).map((n) => taskCreated(taskOf({ id: `t${n}`, number: n })))])
  // If each fork copied all rows, the test would exceed its time limit.
  for (const n of upTo(100_000)) expect(state.fork().row('task', `t${n % 50_000}`)).toBeDefined()
})
