import type { TaskRow } from '../../drizzle/rows.ts'
import { blockers } from '../../modules/tasks/blockers.ts'
import { updateTask } from '../../modules/tasks/commands.ts'
import { applyEvent, type State } from '../../src/actor/state.ts'
import { upTo } from '../kit.ts'
import { editor, eventOf, projectId, staffed, taskCreated, taskOf } from './events.ts'
import { contextOf, errorOf, folded, ruleOf } from './given.ts'

const ids = (...names: string[]) => ({ blockedByIds: names })
const named = (id: string, number: number, fields: Partial<TaskRow> = {}) =>
  taskOf({ id, number, title: id.toUpperCase(), ...fields })
const [a, b] = [named('a', 1), named('b', 2, ids('a'))]

/** A project whose tasks are all known to the fact. */
function projectOf(...tasks: TaskRow[]): State {
  const state = folded(staffed)
  const fact = blockers.create(projectId)
  state.facts.set(blockers as never, fact)
  for (const task of tasks) applyEvent(state, taskCreated(task))
  return state
}
const block = (id: string, fields: object) => ruleOf(updateTask, { id, ...fields })
const errorIn = (state: State, id: string, fields: object) =>
  errorOf(() => block(id, fields)(state, contextOf(editor)))

test('a rule that adds no blocker reads no blockers of other tasks', () => {
  const events = [...staffed, taskCreated(a), taskCreated(b)]
  for (const fields of [
    { title: 'N' },
    { removeBlockedByIds: ['a'] },
    ids(),
    { blockedByIds: ['a'], title: 'N' },
  ])
    expect(() => block('b', fields)(folded(events), contextOf(editor))).not.toThrow()
  expect(() => block('a', ids('b'))(folded(events), contextOf(editor))).toThrow('A fact is not loaded')
})

test('a rule sees the blockers that earlier events of its batch have set, and a fork does not change the original', () => {
  const state = projectOf(a, b)
  const cycle = 'blockedByIds must not form a cycle: #1 "A" is blocked by #2 "B", which is blocked by #1 "A"'
  expect(errorIn(state, 'a', ids('b'))).toEqual({ status: 409, message: cycle })
  const fork = state.fork()
  applyEvent(fork, eventOf('task.updated', 'task', b, { ...b, blockedByIds: null }))
  expect(errorIn(fork, 'a', ids('b'))).toBeUndefined()
  expect(errorIn(state, 'a', ids('b'))).toMatchObject({ status: 409 })
  applyEvent(state, eventOf('task.deleted', 'task', b, null))
  applyEvent(state, taskCreated(named('c', 3, ids('b'))))
  expect(errorIn(state, 'a', ids('c'))).toBeUndefined()
})

test('an error names the shortest cycle, and at most 20 of its tasks', () => {
  const chain = upTo(60).map((n) => named(`t${n}`, n, n > 1 ? ids(`t${n - 1}`) : {}))
  const state = projectOf(...chain, named('s', 61, ids('t1')))
  expect(errorIn(state, 't1', ids('t60', 's'))?.message).toBe(
    'blockedByIds must not form a cycle: #1 "T1" is blocked by #61 "S", which is blocked by #1 "T1"',
  )
  const message = errorIn(state, 't1', ids('t60'))!.message
  expect(message.split('which is blocked by')).toHaveLength(21)
  expect(message).toEndWith('#42 "T42", which is blocked by 40 more tasks, which is blocked by #1 "T1"')
})
