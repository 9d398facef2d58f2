import { importRows } from '../../modules/imports/command/import-rows.ts'
import type { ImportOperation, TaskOperation } from '../../modules/imports/command/operations.ts'
import { blockers } from '../../modules/tasks/blockers.ts'
import { externalIds } from '../../modules/tasks/external-ids.ts'
import { applyEvent } from '../../src/actor/state.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { newId, upTo } from '../kit.ts'
import { admin, editor, projectId, staffed, subtask, subtaskCreated, taskCreated, taskOf } from './events.ts'
import { contextOf, folded, now, ruleOf } from './given.ts'

const [a, b, c] = [newId(), newId(), newId()] as [string, string, string]
const rowA = taskOf({ id: a, externalId: 'A' })

/** Imports into a project whose facts include all tasks. */
function importInto(events: EventDraft[], operations: ImportOperation[], input = {}, caller = editor) {
  const state = folded(staffed)
  for (const kind of [externalIds, blockers]) state.facts.set(kind as never, kind.create(projectId))
  for (const event of events) applyEvent(state, event)
  const decision = ruleOf(importRows, { projectId, operations, ...input })(state, contextOf(caller))
  const { results } = decision.answer
  const afters = decision.changes.map(({ after }) => after)
  return { ...decision, afters, results, outcomes: results.map(({ outcome }) => outcome) as string[] }
}
const operationOf = (externalId: string, ...values: Partial<TaskOperation>[]): TaskOperation =>
  Object.assign({ op: 'task' as const, id: newId(), externalId, title: externalId }, ...values)
const block = (id: string, ...addBlockedByIds: string[]): ImportOperation => ({
  op: 'references',
  id,
  addBlockedByIds,
})
const labelled = (name: string): ImportOperation => ({ op: 'label', id: newId(), name })
const step = (fields: object): ImportOperation => ({
  ...{ op: 'subtask', id: newId(), taskId: a, title: 'S', completed: true },
  ...fields,
})

test('an import creates a row with the time and author of its source, or else with the time of the import', () => {
  const origin = { createdAt: '2001-02-03T04:05:06Z', importedAuthor: ' Grace ' }
  const operations = [operationOf('A', {}, origin), operationOf('B', {}, { importedAuthor: null })]
  const { afters, isBatch, answer } = importInto([], operations)
  expect([isBatch, answer.batch]).toEqual([true, staffed.length + 1])
  expect(afters).toMatchObject([
    { number: 1, createdAt: '2001-02-03T04:05:06.000Z', updatedAt: now, importedAuthor: 'Grace' },
    { number: 2, createdAt: now, updatedAt: now },
  ])
  expect(afters[1]).not.toHaveProperty('importedAuthor')
  const dry = [operationOf('A', {}, { id: a }), step({}), operationOf('A')]
  expect(importInto([], dry, { dryRun: true })).toMatchObject({
    changes: [],
    outcomes: ['created', 'created', 'unchanged'],
  })
})

test('an import decides each operation on the state after the operations before it, and skips a rejected operation', () => {
  const tasks = [a, b, c].map((id) => operationOf(id, {}, { id }))
  const { outcomes, results, afters } = importInto(
    [],
    [...tasks, block(a, b), block(b, c), block(c, a), block(a, c)],
  )
  expect(outcomes.join(' ')).toBe('created created created updated updated rejected updated')
  expect(results[5]!.message).toMatch(/^blockedByIds must not form a cycle: #3/)
  expect([afters.length, afters.at(-1)]).toMatchObject([6, { blockedByIds: [b, c] }])
})

test('an import writes no event for a row that already has all values, and rejects children of other tasks', () => {
  const { description, title } = taskOf({})
  const events = [taskCreated(rowA), subtaskCreated({ ...subtask, taskId: a, id: b })]
  const same = operationOf('A', { title, description, status: 'TODO' }, { createdAt: now })
  const { changes, answer } = importInto(events, [
    same,
    step({ id: b, title: 'Sharpen', completed: false }),
    block(a),
  ])
  expect(changes).toEqual([])
  expect(answer).toEqual({ batch: undefined, results: [a, b, a].map((id) => ({ outcome: 'unchanged', id })) })
  const other = subtaskCreated({ ...subtask, taskId: b, id: c })
  const elsewhere = taskCreated(taskOf({ id: c, projectId: newId() }))
  const operations = [step({ taskId: b }), step({ taskId: c }), step({ id: c }), step({})]
  const { results } = importInto([taskCreated(rowA), elsewhere, other], operations)
  const [missing, taken] = ['Task not found', 'This id is already used; send a new UUIDv7']
  expect(results.map(({ message }) => message)).toEqual([missing, missing, taken, undefined])
})

test('an import rejects operations whose values the command for a row does not accept', () => {
  const bad: [ImportOperation, RegExp][] = [
    [operationOf('B', { title: ' ' }), /^title must be a text of 1 to 500 characters/],
    [operationOf('B', { labelIds: [newId()] }), /^labelIds must be the ids of labels in the project/],
    [operationOf('B', { titel: 'x' } as object), /^titel is not known here; did you mean title\?/],
    [operationOf('A', { description: 'x'.repeat(20_001) }), /^description must be a text of 0 to 20000/],
    [step({ title: '' }), /^title must be/],
    [labelled('x'.repeat(51)), /^name must be a text of 1 to 50/],
  ]
  const { results, changes } = importInto(
    [taskCreated(rowA)],
    bad.map(([operation]) => operation),
  )
  for (const [n, [, message]] of bad.entries()) expect(results[n]!.message).toMatch(message)
  expect(changes).toEqual([])
})

test('an import uses a label with the same name, and rejects labels beyond the limit of a project', () => {
  const labels = [...upTo(501).map((n) => labelled(`L${n}`)), labelled(' l7 ')]
  const { results, changes } = importInto([], labels)
  expect(results[500]).toMatchObject({ outcome: 'rejected', message: 'A project has at most 500 labels' })
  expect(results[501]).toEqual({ outcome: 'unchanged', id: results[6]!.id })
  expect(changes).toHaveLength(500)
})

test('an import adds missing options to a field with the same key, and does not change its type', () => {
  const field = (type: 'choice' | 'number' | 'text', ...options: string[]): ImportOperation => ({
    ...{ op: 'field', id: newId(), key: 'size', name: 'Size', type },
    ...(options.length > 0 && { options }),
  })
  const operations = [
    field('choice', 's'),
    field('choice', 's', ' m '),
    field('choice', 'm'),
    field('number'),
    field('text'),
  ]
  const { results, outcomes, afters } = importInto([], operations, {}, admin)
  expect(outcomes.join(' ')).toBe('created updated unchanged unchanged unchanged')
  expect(new Set(results.map(({ id }) => id)).size).toBe(1)
  const message = 'The field of the project has the type choice, and not number'
  expect(results.flatMap((one) => one.message ?? [])).toEqual([message])
  expect([afters.length, afters[1]]).toMatchObject([2, { options: ['s', 'm'] }])
  expect(new Set(importInto([], operations).outcomes)).toEqual(new Set(['rejected']))
})

test('an import prefers the task with its own id to the task with the external id', () => {
  const own = taskOf({ id: b, externalId: 'B', description: 'D', assigneeId: editor })
  const elsewhere = taskOf({ id: c, projectId: newId(), externalId: 'C' })
  const values = { title: 'T', description: null, assigneeId: null }
  const file = operationOf('A', values, { ownId: b, externalId: `docket:${b}` })
  const ofOther = operationOf('Z', {}, { ownId: c })
  const { afters, outcomes } = importInto([rowA, own, elsewhere].map(taskCreated), [file, ofOther])
  expect(outcomes).toEqual(['updated', 'created'])
  expect(afters).toMatchObject([{ id: b, ...values, externalId: null }, { id: ofOther.id }])
})

test('an import keeps the number of a task unless the project has a task with a higher number', () => {
  const numbered = (number: number) => operationOf(newId(), {}, { number })
  const { afters } = importInto([], [3, 7, 7, 5].map(numbered))
  expect(afters).toMatchObject([3, 7, 8, 9].map((number) => ({ number })))
  expect(importInto([], [numbered(1_000_000_001)]).afters).toMatchObject([{ number: 1 }])
})
