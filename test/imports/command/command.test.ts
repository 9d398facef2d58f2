import { expect, test } from 'bun:test'
import type { ImportOperation } from '../../../modules/imports/command/operations.ts'
import type { Caller, TokenRights } from '../../../src/identity/rights.ts'
import { newId } from '../../../src/ids.ts'
import { openProject, openTeam } from '../../http/scene.ts'
import { make, versionOf } from '../../support/client.ts'
import { faultsOf } from '../../support/history.ts'
import { forFile, openTestService } from '../../support/service.ts'
import { openImport, outcomesOf, taskOf } from './scene.ts'

const { service, people, owner, admin, editor, viewer, stranger, sql } = await openTeam()
const other = await forFile(openTestService(service.env))
const projectId = await openProject(people)

async function open() {
  const projectId = await openProject(people)
  const run = openImport(service, projectId, { userId: editor.id })
  const tasks = async () => (await editor.get(`/tasks?projectId=${projectId}`)).body
  return { projectId, run, tasks, version: () => versionOf(owner, projectId) }
}

test('an operation that is rejected says why, and the others are committed', async () => {
  const { run, tasks } = await open()
  const elsewhereId = await openProject(people)
  const elsewhere = await make(editor, '/tasks', { projectId: elsewhereId, title: 'T', externalId: 'A' })
  const [good, child] = [taskOf('A'), newId()]
  const of = (values: object, others = {}) => taskOf('B', values, others)
  const bad: [ImportOperation, RegExp][] = [
    [of({ title: ' ' }), /^title must be a text of 1 to 500 characters/],
    [of({ title: 'a\0' }), /^title must be/],
    [of({ description: 'x'.repeat(20_001) }), /^description must be a text of 0 to 20000/],
    [of({ status: 'LATER' }), /^status must be one of TODO/],
    [of({ dueDate: '2020-02-30' }), /^dueDate must be an ISO 8601/],
    [of({ remindAt: '2020-01-01' }), /^remindAt must be in the future/],
    [of({ assigneeId: people.stranger.id }), /^assigneeId must be the owner or a member/],
    [of({ labelIds: [newId()] }), /^labelIds must be the ids of labels in the project/],
    [of({ fields: { size: 1 } }), /^fields.size must be the key of a field/],
    [of({ titel: 'x' }), /^titel is not known here; did you mean title\?/],
    [of({}, { createdAt: 'yesterday' }), /^createdAt must be an ISO 8601/],
    [of({}, { importedAuthor: 'x'.repeat(201) }), /^importedAuthor must be a text of 1 to 200/],
    [of({}, { id: 'x' }), /^id must be/],
    [of({}, { externalId: 'a\0' }), /^externalId must be a text of 1 to 200/],
    [{ op: 'subtask', id: newId(), taskId: elsewhere.id, title: 'T', completed: false }, /^Task not found/],
    [{ op: 'comment', id: newId(), taskId: newId(), text: 'T' }, /^Task not found/],
    [{ op: 'comment', id: newId(), taskId: good.id, text: ' ' }, /^text must be a text of 1 to 20000/],
    [{ op: 'references', id: good.id, addBlockedByIds: [good.id] }, /must not contain the task itself/],
    [
      { op: 'references', id: good.id, addBlockedByIds: [elsewhere.id] },
      /must be the ids of tasks in the project/,
    ],
    [{ op: 'label', id: newId(), name: 'x'.repeat(51) }, /^name must be a text of 1 to 50/],
  ]
  const subtask = { op: 'subtask', id: child, taskId: good.id, title: 'T', completed: false } as const
  const { results } = await run([good, ...bad.map(([operation]) => operation), subtask])
  expect(results.map(({ outcome }) => outcome)).toEqual([
    'created',
    ...bad.map(() => 'rejected' as const),
    'created',
  ])
  for (const [n, [, message]] of bad.entries()) expect(results[n + 1]!.message).toMatch(message)
  expect(await tasks()).toMatchObject([{ id: good.id }])
  expect(await faultsOf(sql)).toEqual([])
})

test('a repeated batch returns its first results and commits nothing, also in another process', async () => {
  const { projectId, run, tasks, version } = await open()
  const operations = [taskOf('A'), taskOf('', { title: 'B' })]
  const first = await run(operations, {}, `${projectId} tasks 0`)
  expect(outcomesOf(first)).toEqual(['created', 'rejected'])
  const [before, known] = [await tasks(), await version()]
  await editor.patch(`/tasks/${first.results[0]!.id}`, { title: 'Changed' })
  const elsewhere = openImport(other, projectId, { userId: editor.id })
  expect(await elsewhere(operations, {}, `${projectId} tasks 0`)).toEqual(first)
  expect(await run(operations, {}, `${projectId} tasks 0`)).toEqual(first)
  expect(await version()).toBe(known + 1)
  expect(await tasks()).toMatchObject([{ ...before[0], title: 'Changed', updatedAt: expect.any(String) }])
})

test('a batch that runs in two processes at the same time is committed once', async () => {
  const { projectId, run, tasks } = await open()
  const elsewhere = openImport(other, projectId, { userId: editor.id })
  const operations = Array.from({ length: 50 }, (_, n) => taskOf(`T${n}`))
  const answers = await Promise.all([run, elsewhere, run].map((one) => one(operations, {}, `${projectId} 0`)))
  expect(answers[1]).toEqual(answers[0]!)
  expect(answers[2]).toEqual(answers[0]!)
  expect(await tasks()).toHaveLength(50)
  expect(await faultsOf(sql)).toEqual([])
})

test('a row that changed between two batches keeps its other values', async () => {
  const { run, tasks, projectId } = await open()
  const { results } = await run([taskOf('A', { title: 'A', description: 'D' })])
  const { id } = results[0]!
  await editor.patch(`/tasks/${id}`, { priority: 'HIGH', externalId: 'B' })
  await editor.post('/tasks', { projectId, title: 'Mine', externalId: 'A' })
  const again = await run([taskOf('B', { title: 'N' }), taskOf('A', { description: 'E' })])
  expect(outcomesOf(again)).toEqual(['updated', 'updated'])
  expect(await tasks()).toMatchObject([
    { id, title: 'N', description: 'D', priority: 'HIGH' },
    { title: 'A', description: 'E' },
  ])
  await editor.delete(`/tasks/${id}`)
  const late = await run([
    { op: 'comment', id: newId(), taskId: id, text: 'C' },
    taskOf('B', { title: 'New' }),
  ])
  expect(outcomesOf(late)).toEqual(['rejected', 'created'])
  expect(await faultsOf(sql)).toEqual([])
})

const field = { op: 'field', id: newId(), key: 'size', name: 'Size', type: 'number' } as const
const token = (rights: Partial<TokenRights>): TokenRights => ({
  ...{ id: newId(), scope: 'admin', projects: null },
  ...rights,
})
const importAs = (caller: Caller) => openImport(service, projectId, caller)

test.each([
  ['a stranger', { userId: stranger.id }, 404],
  ['a VIEWER', { userId: viewer.id }, 403],
  ['a token that may only read', { userId: editor.id, token: token({ scope: 'read' }) }, 403],
  [
    'a token that is bound to another project',
    { userId: owner.id, token: token({ projects: [newId()] }) },
    404,
  ],
])('is rejected for %s', async (_, caller, status) => {
  const version = await versionOf(owner, projectId)
  expect(importAs(caller)([taskOf('A')])).rejects.toMatchObject({ status })
  expect(importAs(caller)([taskOf('A')], { dryRun: true })).rejects.toMatchObject({ status })
  expect(await versionOf(owner, projectId)).toBe(version)
})

test('an EDITOR and a token with the scope write import tasks, but no fields', async () => {
  const callers = [
    { userId: editor.id },
    { userId: admin.id, token: token({ scope: 'write', projects: [projectId] }) },
  ]
  for (const caller of callers) {
    expect(outcomesOf(await importAs(caller)([taskOf(newId())]))).toEqual(['created'])
    for (const dryRun of [false, true])
      expect((await importAs(caller)([field], { dryRun })).results).toMatchObject([
        { outcome: 'rejected', message: expect.stringMatching(/role ADMIN|scope admin/) },
      ])
  }
  expect(outcomesOf(await importAs({ userId: admin.id })([field]))).toEqual(['created'])
})

test('another account changes imported tasks, but not the text of comments', async () => {
  const comment = { op: 'comment', id: newId(), taskId: '', text: 'One', importedAuthor: 'Grace' } as const
  const first = await importAs({ userId: editor.id })([taskOf('Shared')])
  const taskId = first.results[0]!.id
  await importAs({ userId: editor.id })([{ ...comment, taskId }])
  const run = importAs({ userId: admin.id })
  const again = await run([taskOf('Shared', { title: 'N' }), { ...comment, taskId }])
  expect(outcomesOf(again)).toEqual(['updated', 'unchanged'])
  const { results } = await run([{ ...comment, taskId, text: 'Two' }])
  expect(results).toEqual([
    { outcome: 'rejected', id: comment.id, message: 'Only the author may edit a comment' },
  ])
})

test('does not find external ids and ids of other projects', async () => {
  const other = await openProject(people)
  const task = await make(editor, '/tasks', { projectId: other, title: 'T', externalId: 'Elsewhere' })
  const { id } = await make(editor, `/tasks/${task.id}/comments`, { text: 'C' })
  const run = importAs({ userId: editor.id })
  const { results } = await run([
    taskOf('Elsewhere', { title: 'Here' }),
    { op: 'comment', id, taskId: task.id, text: 'X' },
    { op: 'references', id: task.id },
  ])
  const [created, ...others] = results
  expect(created!.outcome).toBe('created')
  expect(others.map(({ message }) => message)).toEqual(['Task not found', 'Task not found'])
  const taken = await run([{ op: 'comment', id, taskId: created!.id, text: 'X' }])
  expect(taken.results[0]).toMatchObject({
    outcome: 'rejected',
    message: expect.stringContaining('already used'),
  })
  expect((await editor.get(`/tasks/${task.id}`)).body).toEqual(task)
})
