import { importRows } from '../../modules/imports/command/import-rows.ts'
import type { ImportOperation } from '../../modules/imports/command/operations.ts'
import { blockers } from '../../modules/tasks/blockers.ts'
import { externalIds } from '../../modules/tasks/external-ids.ts'
import { applyEvent } from '../../src/actor/state.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { newId, upTo } from '../kit.ts'
import { taskOf as operationOf } from '../imports/command/scene.ts'
import { admin, editor, projectId, staffed, subtask, subtaskCreated, taskCreated, taskOf } from './events.ts'
import { contextOf, folded, now, ruleOf } from './given.ts'

const [a, b, c] = [newId(), newId(), newId()] as [string, string, string]
const rowA = taskOf({ id: a, externalId: 'A' })

/** A project whose facts include all tasks. */
function given(...events: EventDraft[]) {
  const state = folded(staffed)
  for (const kind of [externalIds, blockers]) state.facts.set(kind as never, kind.create(projectId))
  for (const event of events) applyEvent(state, event)
  return state
}

function when(operations: ImportOperation[], state = given(), input = {}, caller = editor) {
  const decision = ruleOf(importRows, { projectId, operations, ...input })(state, contextOf(caller))
  const { results } = decision.answer
  return { ...decision, results, outcomes: results.map(({ outcome }) => outcome) }
}
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

describe('project.import', () => {
  test('creates a row with the time and author of its source, or else with the time of the import', () => {
    const origin = { createdAt: '2001-02-03T04:05:06Z', importedAuthor: ' Grace ' }
    const { changes, isBatch, answer } = when([
      operationOf('A', {}, origin),
      operationOf('B', {}, { importedAuthor: null }),
    ])
    expect([isBatch, answer.batch]).toEqual([true, staffed.length + 1])
    expect(changes.map(({ type, after }) => [type, after])).toMatchObject([
      [
        'task.created',
        { number: 1, createdAt: '2001-02-03T04:05:06.000Z', updatedAt: now, importedAuthor: 'Grace' },
      ],
      ['task.created', { number: 2, createdAt: now, updatedAt: now }],
    ])
    expect(changes[1]!.after).not.toHaveProperty('importedAuthor')
  })

  test('decides each operation on the state after the operations before it, and skips a rejected operation', () => {
    const tasks = [a, b, c].map((id) => operationOf(id, {}, { id }))
    const links = [block(a, b), block(b, c), block(c, a), block(a, c)]
    const { outcomes, results, changes } = when([...tasks, ...links], given())
    const [created, updated, rejected] = ['created', 'updated', 'rejected'] as const
    expect(outcomes).toEqual([created, created, created, updated, updated, rejected, updated])
    expect(results[5]!.message).toMatch(/^blockedByIds must not form a cycle: #3/)
    expect(changes).toHaveLength(6)
    expect(changes.at(-1)!.after).toMatchObject({ blockedByIds: [b, c] })
  })

  test('writes no event for a row that already has all values', () => {
    const { description, ...others } = taskOf({})
    const state = given(taskCreated(rowA), subtaskCreated({ ...subtask, taskId: a, id: b }))
    const same = operationOf('A', { title: others.title, description, status: 'TODO' }, { createdAt: now })
    const { changes, answer } = when(
      [same, step({ id: b, title: 'Sharpen', completed: false }), block(a)],
      state,
    )
    expect(changes).toEqual([])
    expect(answer).toEqual({
      batch: undefined,
      results: [a, b, a].map((id) => ({ outcome: 'unchanged', id })),
    })
  })

  test('rejects a child of a task that is not in the project, and a child with the id of a child of another task', () => {
    const other = subtaskCreated({ ...subtask, taskId: b, id: c })
    const { results } = when(
      [step({ taskId: b }), step({ id: c }), step({})],
      given(taskCreated(rowA), other),
    )
    expect(results.map(({ message }) => message)).toEqual([
      'Task not found',
      'This id is already used; send a new UUIDv7',
      undefined,
    ])
  })

  test('uses a label with the same name, and rejects labels beyond the limit of a project', () => {
    const { outcomes, results, changes } = when([
      ...upTo(501).map((n) => labelled(`L${n}`)),
      labelled(' l7 '),
    ])
    expect(outcomes.filter((one) => one === 'created')).toHaveLength(500)
    expect(results[500]).toMatchObject({ outcome: 'rejected', message: 'A project has at most 500 labels' })
    expect(results[501]).toEqual({ outcome: 'unchanged', id: results[6]!.id })
    expect(changes).toHaveLength(500)
  })

  test('adds missing options to a field with the same key, and does not change its type', () => {
    const field = (type: 'choice' | 'number' | 'text', options?: string[]): ImportOperation => ({
      ...{ op: 'field', id: newId(), key: 'size', name: 'Size', type },
      ...(options && { options }),
    })
    const operations = [
      field('choice', ['s']),
      field('choice', ['s', ' m ']),
      field('choice', ['m']),
      field('number'),
      field('text'),
    ]
    const { results, outcomes, changes } = when(operations, given(), {}, admin)
    expect(outcomes).toEqual(['created', 'updated', 'unchanged', 'unchanged', 'unchanged'])
    expect(new Set(results.map(({ id }) => id)).size).toBe(1)
    expect(results.flatMap(({ message }) => message ?? [])).toEqual([
      'The field of the project has the type choice, and not number',
    ])
    expect(changes).toHaveLength(2)
    expect(changes[1]!.after).toMatchObject({ options: ['s', 'm'] })
    expect(when(operations, given()).outcomes).toEqual(operations.map(() => 'rejected' as const))
  })

  test('prefers the task with its own id to the task with the external id', () => {
    const own = taskOf({ id: b, externalId: 'B', description: 'D', assigneeId: editor })
    const elsewhere = taskOf({ id: c, projectId: newId(), externalId: 'C' })
    const state = given(taskCreated(rowA), taskCreated(own), taskCreated(elsewhere))
    const file = operationOf(
      'A',
      { title: 'T', description: null, assigneeId: null },
      { ownId: b, externalId: `docket:${b}` },
    )
    const ofOther = operationOf('Z', {}, { ownId: c })
    const { changes, outcomes } = when([file, ofOther], state)
    expect(outcomes).toEqual(['updated', 'created'])
    const after = { id: b, title: 'T', description: null, assigneeId: null, externalId: null }
    expect(changes[0]!.after).toMatchObject(after)
    expect(changes[1]!.after).toMatchObject({ id: ofOther.id })
  })

  test('keeps the number of a task unless the project has a task with a higher number', () => {
    const numbered = (number: number) => operationOf(newId(), {}, { number })
    const { changes } = when([numbered(3), numbered(7), numbered(7), numbered(5)], given())
    expect(changes.map(({ after }) => after)).toMatchObject([3, 7, 8, 9].map((number) => ({ number })))
    expect(when([numbered(0)]).outcomes).toEqual(['rejected'])
  })

  test('a dry run returns no events', () => {
    const { changes, results } = when(
      [operationOf('A', {}, { id: a }), step({}), operationOf('A')],
      given(),
      { dryRun: true },
    )
    expect(changes).toEqual([])
    expect(results.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'unchanged'])
  })
})
