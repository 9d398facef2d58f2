import { beforeEach, expect, test } from 'bun:test'
import type { Body } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { anId, expectRefusal } from './answers.ts'
import { create, doneIn, openScene } from './batch-scene.ts'

let project: Body
let task: Body
const scene = await openScene()
const { ada, bea } = scene
beforeEach(async () => void ({ project, task } = await scene.furnish()))

const send = (operations: object[], others = {}, query = '', headers = {}, who = ada) =>
  scene.send(project.id, operations, others, query, headers, who)
const facts = () => scene.facts(project.id)

test('many writes are one commit, in one range of seqs with one batch number, and each sees those before it', async () => {
  const operations = [
    create('First', { as: 'first', assigneeId: ada.id }),
    { op: 'subtask.create', taskId: '#first', title: 'Step', as: 'step' },
    { op: 'subtask.toggle', id: '#step' },
    { op: 'comment.create', taskId: '#first', text: 'Well', as: 'said' },
    { op: 'comment.update', id: '#said', text: 'Better' },
    { op: 'member.invite', email: bea.email, as: 'bea' },
    { op: 'member.set_role', memberId: '#bea', role: 'EDITOR' },
    { op: 'task.update', id: task.id, assigneeId: bea.id },
    { op: 'project.update', name: 'Renamed' },
    { op: 'comment.delete', id: '#said' },
    { op: 'task.delete', id: '#first' },
    create('Third'),
  ]
  const { version, results } = doneIn(await send(operations))
  expect(version).toBe(14)
  expect(results).toHaveLength(operations.length)
  for (const { id } of results) expect(id).toEqual(anId as string)
  expect(results.map(({ number }) => number)).toEqual(
    [2, , , , , , , 1, , , , 3].map((number) => number) as number[],
  )
  expect(results.slice(-3).map(({ etag }) => etag === null)).toEqual([true, true, false])
  const log = await facts()
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, i) => i + 1))
  expect(log.slice(2).map(({ batch }) => batch)).toEqual(operations.map(() => 3))
  const { headers, body } = await ada.get(`/tasks/${task.id}`)
  expect([headers.get('etag'), body.assigneeId]).toEqual([results[7]!.etag, bea.id])
  expect((await ada.get(`/projects/${project.id}`)).headers.get('etag')).toBe(results[8]!.etag)
  expect(await faultsOf(scene.reads)).toEqual([])
})

test('a name of what is about the project stands for its id where an operation says the project', async () => {
  const { id: projectId } = project
  const named = '#p'
  const operations = [
    { op: 'project.update', id: projectId, name: 'Renamed', as: 'p' },
    create('First', { projectId: named, as: 'first' }),
    { op: 'member.invite', projectId: named, email: bea.email },
    { op: 'task.update', id: '#first', projectId: named, status: 'DONE' },
    { op: 'project.update', id: named, description: 'Wheels' },
  ]
  expect(doneIn(await send(operations)).version).toBe(7)
  const message =
    'operations[1]: projectId must be the project of the batch: a task moves to another one alone'
  expectRefusal(await send([create('Other', { as: 'p' }), create('X', { projectId: named })]), 400, message)
  const lost = 'operations[0]: projectId must be an id, or the #name of an operation before'
  expectRefusal(await send([create('X', { projectId: named })]), 400, lost)
})

test('return=full answers each resource as a read or its own write shows it', async () => {
  const operations = [
    create('Whole', { as: 'new' }),
    { op: 'comment.create', taskId: '#new', text: 'Said' },
    { op: 'member.invite', email: bea.email, as: 'bea' },
    { op: 'member.set_role', memberId: '#bea', role: 'ADMIN' },
    { op: 'project.update', description: 'Wheels' },
  ]
  const { results } = doneIn(await send(operations, {}, '?return=full'))
  expect((await ada.get(`/tasks/${results[0]!.id}`)).body).toEqual(results[0]!)
  expect((await ada.get(`/tasks/${results[0]!.id}/comments`)).body).toEqual([results[1]!] as unknown as Body)
  expect((await ada.get(`/projects/${project.id}/members`)).body).toEqual([results[3]!] as unknown as Body)
  expect((await ada.get(`/projects/${project.id}`)).body).toEqual(results[4]!)
})

test('return=full of very much is refused, and nothing is done', async () => {
  const long = upTo(30).map((n) => create(`Long ${n}`, { description: 'x'.repeat(20_000) }))
  const message = 'return=full would answer more than 500000 bytes: ask without it'
  expectRefusal(await send(long, {}, '?return=full'), 400, message)
  expect(doneIn(await send(long)).version).toBe(32)
})

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

test('500 operations are done, none and 501 are refused', async () => {
  const { version, results } = doneIn(await send(upTo(500).map((n) => create(`Task ${n}`))))
  expect([version, results.at(-1)!.number]).toEqual([502, 501])
  const message = 'operations must be a list of 1 to 500 operations'
  for (const count of [0, 501]) expectRefusal(await send(upTo(count).map(() => create('X'))), 400, message)
  const updates = results.map(({ id }) => ({
    op: 'task.update',
    id,
    was: { status: 'TODO' },
    status: 'DONE',
  }))
  expect(doneIn(await send(updates)).version).toBe(1_002)
})

test('conditions hold: was and ifMatch of an operation, ifVersion and If-Match of the whole', async () => {
  const path = `/tasks/${task.id}`
  const update = (others: object) => ({ op: 'task.update', id: task.id, ...others })
  const dated = await ada.patch(path, { dueDate: '2030-01-02', assigneeId: ada.id })
  const etag = dated.headers.get('etag')
  const written = {
    ...dated.body,
    id: task.id.toUpperCase(),
    assigneeId: ada.id.toUpperCase(),
    createdAt: task.createdAt.replace('Z', '+00:00'),
    dueDate: '2030-01-02T01:00+01:00',
  }
  const first = update({ was: written, ifMatch: etag, status: 'DONE' })
  // What an operation before it did counts as well.
  const second = update({ was: { status: 'TODO' }, title: 'X' })
  expectRefusal(await send([first, second]), 409, 'operations[1]: Not as in was: status')
  const other = update({ ifMatch: '"other"', title: 'X' })
  expectRefusal(await send([first, other]), 412, /^operations\[1\]: The resource has changed/)
  expectRefusal(await send([first], { ifVersion: 1 }), 412, 'The project has another version than ifVersion')
  expect((await send([first], {}, '', { 'if-match': '"other"' })).status).toBe(412)
  expect(doneIn(await send([first], { ifVersion: 3 })).version).toBe(4)
  expect((await send([first], { ifVersion: 3 })).status).toBe(412)
})

test('with nothing to change the version stays as it is', async () => {
  const { version, results } = doneIn(await send([{ op: 'task.update', id: task.id, title: 'T' }]))
  const etag = (await ada.get(`/tasks/${task.id}`)).headers.get('etag')
  expect([version, results]).toEqual([2, [{ id: task.id, etag, number: 1 }] as never])
  expect(await facts()).toHaveLength(2)
})

test('a dry run decides and does nothing', async () => {
  const operations = [create('New', { as: 'new' }), { op: 'task.update', id: '#new', status: 'DONE' }]
  const { version, results } = doneIn(await send(operations, {}, '?dryRun=true&return=full'))
  expect([version, results[1]!.status, results[1]!.number]).toEqual([2, 'DONE', 2])
  expectRefusal(await send([...operations, create('')], {}, '?dryRun=true'), 400, /^operations\[2\]: title/)
  expect(await facts()).toHaveLength(2)
  expect(doneIn(await send(operations, {}, '?dryRun=false')).version).toBe(4)
  expectRefusal(await send(operations, {}, '?dryRun=yes'), 400, /^dryRun must be /)
  expectRefusal(await send(operations, {}, '?dry=true'), 400, /^dry is not known here/)
})

test('under one Idempotency-Key a batch is done once, and a dry run is another request', async () => {
  const key = { 'idempotency-key': `batch-${project.id}` }
  const first = await send([create('Once')], {}, '', key)
  const again = await send([create('Once')], {}, '', key)
  expect([again.status, again.text]).toEqual([200, first.text])
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect((await send([create('Once')], {}, '?dryRun=true', key)).status).toBe(422)
  expect(await facts()).toHaveLength(3)
})

test('what was read can be sent back, ids in upper case too', async () => {
  const { results } = doneIn(
    await send([{ ...task, op: 'task.update', id: task.id.toUpperCase(), title: 'U' }], {}, '?return=full'),
  )
  expect(results[0]).toMatchObject({ id: task.id, title: 'U', number: 1 })
})

test('batches at once, with single writes between them, stand whole and in order', async () => {
  const three = (n: number) => send([create(`${n} a`), create(`${n} b`), create(`${n} c`)])
  const single = (n: number) => ada.post('/tasks', { title: `${n}`, projectId: project.id })
  const answers = await Promise.all(upTo(60).map((n) => (n % 2 ? three(n) : single(n))))
  for (const { status } of answers) expect(status).toBeLessThan(300)
  const log = await facts()
  expect(log).toHaveLength(2 + 30 * 4)
  const batches = Map.groupBy(
    log.filter(({ batch }) => batch !== null),
    ({ batch }) => batch!,
  )
  expect(batches.size).toBe(30)
  for (const [batch, of] of batches) expect(of.map(({ seq }) => seq)).toEqual([batch, batch + 1, batch + 2])
  expect(await faultsOf(scene.reads)).toEqual([])
})
