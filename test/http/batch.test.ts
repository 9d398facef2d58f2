import { beforeEach, expect, test } from 'bun:test'
import { upTo } from '../races/pair.ts'
import type { Body } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { anId, expectError, isReplay } from './responses.ts'
import { createOperation, batchResult } from './batch-scene.ts'
import { openUndoScene } from './undo-scene.ts'

let project: Body
let task: Body
const scene = await openUndoScene()
const { ada, bea, batch, events } = scene
beforeEach(async () => void ({ project, task } = await scene.furnish()))
const update = (others: object) => ({ op: 'task.update', id: task.id, ...others })

test('many writes are one commit, in one range of seqs with one batch number, and each sees those before it', async () => {
  const operations = [
    createOperation('First', { as: 'first', assigneeId: ada.id }),
    { op: 'subtask.create', taskId: '#first', title: 'Step', as: 'step' },
    { op: 'subtask.toggle', id: '#step' },
    { op: 'comment.create', taskId: '#first', text: 'Well', as: 'said' },
    { op: 'comment.update', id: '#said', text: 'Better' },
    { op: 'member.invite', email: bea.email, as: 'bea' },
    { op: 'member.set_role', memberId: '#bea', role: 'EDITOR' },
    update({ assigneeId: bea.id }),
    { op: 'project.update', name: 'Renamed' },
    { op: 'comment.delete', id: '#said' },
    { op: 'task.delete', id: '#first' },
    createOperation('Third'),
  ]
  const { version, results } = batchResult(await batch(operations))
  expect([version, results.length]).toEqual([14, operations.length])
  for (const { id } of results) expect(id).toEqual(anId as string)
  const numbered = results.flatMap(({ number }, n) => (number === undefined ? [] : [[n, number]]))
  expect(numbered).toEqual([
    [0, 2],
    [7, 1],
    [11, 3],
  ])
  expect(results.slice(-3).map(({ etag }) => etag === null)).toEqual([true, true, false])
  const log = await events()
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, i) => i + 1))
  expect(log.slice(2).map((event) => event.batch)).toEqual(operations.map(() => 3))
  const { headers, body } = await ada.get(`/tasks/${task.id}`)
  expect([headers.get('etag'), body.assigneeId]).toEqual([results[7]!.etag, bea.id])
  expect((await ada.get(`/projects/${project.id}`)).headers.get('etag')).toBe(results[8]!.etag)
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('a name of what is about the project stands for its id where an operation says the project', async () => {
  const named = '#p'
  const operations = [
    { op: 'project.update', id: project.id, name: 'Renamed', as: 'p' },
    createOperation('First', { projectId: named, as: 'first' }),
    { op: 'member.invite', projectId: named, email: bea.email },
    { op: 'task.update', id: '#first', projectId: named, status: 'DONE' },
    { op: 'project.update', id: named, description: 'Wheels' },
  ]
  expect(batchResult(await batch(operations)).version).toBe(7)
  const message = 'projectId must be the project of the batch: a task moves to another one alone'
  const other = await batch([
    createOperation('Other', { as: 'p' }),
    createOperation('X', { projectId: named }),
  ])
  expectError(other, 400, `operations[1]: ${message}`)
  const lost = 'operations[0]: projectId must be an id, or the #name of an operation before'
  expectError(await batch([createOperation('X', { projectId: named })]), 400, lost)
})

test('return=full answers each resource as a read or its own write shows it, unless that is very much', async () => {
  const operations = [
    createOperation('Whole', { as: 'new' }),
    { op: 'comment.create', taskId: '#new', text: 'Said' },
    { op: 'member.invite', email: bea.email, as: 'bea' },
    { op: 'member.set_role', memberId: '#bea', role: 'ADMIN' },
    { op: 'project.update', description: 'Wheels' },
  ]
  const [whole, said, , member, changed] = batchResult(await batch(operations, {}, '?return=full')).results
  expect((await ada.get(`/tasks/${whole!.id}`)).body).toEqual(whole!)
  expect((await ada.get(`/tasks/${whole!.id}/comments`)).body).toEqual([said!] as unknown as Body)
  expect((await ada.get(`/projects/${project.id}/members`)).body).toEqual([member!] as unknown as Body)
  expect((await ada.get(`/projects/${project.id}`)).body).toEqual(changed!)
  const long = upTo(30).map((n) => createOperation(`Long ${n}`, { description: 'x'.repeat(20_000) }))
  const message = 'return=full would answer more than 500000 bytes: ask without it'
  expectError(await batch(long, {}, '?return=full'), 400, message)
  expect(batchResult(await batch(long)).version).toBe(37)
})

test('500 operations are done, none and 501 are refused', async () => {
  const { version, results } = batchResult(await batch(upTo(500).map((n) => createOperation(`Task ${n}`))))
  expect([version, results.at(-1)!.number]).toEqual([502, 501])
  const message = 'operations must be a list of 1 to 500 operations'
  for (const count of [0, 501])
    expectError(await batch(upTo(count).map(() => createOperation('X'))), 400, message)
  const updates = results.map(({ id }) => update({ id, was: { status: 'TODO' }, status: 'DONE' }))
  expect(batchResult(await batch(updates)).version).toBe(1_002)
})

test('conditions hold: was and ifMatch of an operation, ifVersion and If-Match of the whole', async () => {
  const dated = await ada.patch(`/tasks/${task.id}`, { dueDate: '2030-01-02', assigneeId: ada.id })
  // What was read can be sent back, ids in upper case too.
  const written = {
    ...dated.body,
    id: task.id.toUpperCase(),
    assigneeId: ada.id.toUpperCase(),
    createdAt: task.createdAt.replace('Z', '+00:00'),
    dueDate: '2030-01-02T01:00+01:00',
  }
  const first = { ...written, ...{ op: 'task.update', was: written, status: 'DONE' } }
  const matching = { ...first, ifMatch: dated.headers.get('etag') }
  // What an operation before it did counts as well.
  const second = update({ was: { status: 'TODO' }, title: 'X' })
  expectError(await batch([matching, second]), 409, 'operations[1]: Not as in was: status')
  const other = update({ ifMatch: '"other"', title: 'X' })
  expectError(await batch([matching, other]), 412, /^operations\[1\]: The resource has changed/)
  const message = 'The project has another version than ifVersion'
  expectError(await batch([first], { ifVersion: 1 }), 412, message)
  expect((await batch([first], {}, '', { 'if-match': '"other"' })).status).toBe(412)
  const { version, results } = batchResult(await batch([matching], { ifVersion: 3 }, '?return=full'))
  expect([version, results[0]!.id, results[0]!.status]).toEqual([4, task.id, 'DONE'])
  expectError(await batch([first], { ifVersion: 3 }), 412, message)
})

test('with nothing to change the version stays as it is', async () => {
  const { version, results } = batchResult(await batch([update({ title: 'T' })]))
  const etag = (await ada.get(`/tasks/${task.id}`)).headers.get('etag')
  expect([version, results]).toEqual([2, [{ id: task.id, etag, number: 1 }] as never])
  expect(await events()).toHaveLength(2)
})

test('a dry run decides and does nothing, and is another request under an Idempotency-Key', async () => {
  const operations = [
    createOperation('New', { as: 'new' }),
    { op: 'task.update', id: '#new', status: 'DONE' },
  ]
  const { version, results } = batchResult(await batch(operations, {}, '?dryRun=true&return=full'))
  expect([version, results[1]!.status, results[1]!.number]).toEqual([2, 'DONE', 2])
  expectError(
    await batch([...operations, createOperation('')], {}, '?dryRun=true'),
    400,
    /^operations\[2\]: title/,
  )
  expect(await events()).toHaveLength(2)
  const key = { 'idempotency-key': `batch-${project.id}` }
  expect(batchResult(await batch(operations, {}, '?dryRun=false', key)).version).toBe(4)
  expect(isReplay(await batch(operations, {}, '?dryRun=false', key))).toBeTrue()
  expect((await batch(operations, {}, '?dryRun=true', key)).status).toBe(422)
  expect(await events()).toHaveLength(4)
})

test('batches at once, with single writes between them, stand whole and in order', async () => {
  const three = (n: number) =>
    batch([createOperation(`${n} a`), createOperation(`${n} b`), createOperation(`${n} c`)])
  const single = (n: number) => ada.post('/tasks', { title: `${n}`, projectId: project.id })
  const answers = await Promise.all(upTo(60).map((n) => (n % 2 ? three(n) : single(n))))
  for (const { status } of answers) expect(status).toBeLessThan(300)
  const log = await events()
  expect(log).toHaveLength(2 + 30 * 4)
  const batches = Map.groupBy(log, (event) => event.batch)
  batches.delete(null)
  expect(batches.size).toBe(30)
  for (const [first, of] of batches)
    expect(of.map(({ seq }) => seq)).toEqual([0, 1, 2].map((n) => first! + n))
  expect(await faultsOf(scene.sql)).toEqual([])
})
