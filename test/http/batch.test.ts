import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Answer, type Body, invite, make, type Person, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { openTestService, type TestService } from '../support/service.ts'
import { absentId, anId, expectRefusal } from './answers.ts'

let service: TestService
let ada: Person
let bea: Person
let project: Body
let task: Body
beforeAll(async () => {
  service = await openTestService()
  ada = await register(service.client, 'Ada')
  bea = await register(service.client, 'Bea')
})
afterAll(() => service.close())
beforeEach(async () => {
  project = await make(ada, '/projects', { name: 'P' })
  task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
})

interface Done {
  version: number
  results: (Body & { etag: string | null })[]
}

const send = (operations: object[], others: object = {}, query = '', headers = {}, who = ada) =>
  who.post(`/projects/${project.id}/batch${query}`, { ...others, operations }, headers)
const doneIn = ({ status, body, text }: Answer): Done => {
  expect([status, text]).toEqual([200, text])
  return body as unknown as Done
}
const facts = () => service.services.database.reads<{ seq: number; type: string; batch: number | null }[]>`
  select seq::float8 as seq, type, batch::float8 as batch from events where project_id = ${project.id} order by seq`
const create = (title: string, others: object = {}) => ({ op: 'task.create', title, ...others })

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
  expect(await faultsOf(service.services.database.reads)).toEqual([])
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

test('the first refusal refuses all, in its own words and with its number', async () => {
  await invite(ada, project.id, bea, 'VIEWER')
  const elsewhere = await make(ada, '/projects', { name: 'Q' })
  const theirs = await make(ada, '/tasks', { title: 'T', projectId: elsewhere.id })
  const step = await make(ada, `/tasks/${theirs.id}/subtasks`, { title: 'S' })
  const before = await facts()
  const wrong: [status: number, message: string, operation: object][] = [
    [400, 'title is required: a text of 1 to 500 characters', { op: 'task.create' }],
    [400, 'titel is not known here; did you mean title?', create('X', { titel: 'X' })],
    [400, 'assigneeId must be the owner or a member of the project', create('X', { assigneeId: absentId })],
    [
      400,
      'projectId must be the project of the batch: a task moves to another one alone',
      create('X', { projectId: elsewhere.id }),
    ],
    [
      400,
      'projectId must be the project of the batch: a task moves to another one alone',
      { op: 'task.update', id: task.id, projectId: elsewhere.id },
    ],
    [
      400,
      'taskId must be an id, or the #name of an operation before',
      { op: 'subtask.create', taskId: '#other', title: 'S' },
    ],
    [400, 'as must be a name that no operation before has', create('X', { as: 'ok' })],
    [
      400,
      'was.titel is not known here; did you mean title?',
      { op: 'task.update', id: task.id, was: { titel: 'T' } },
    ],
    [404, 'Task not found', { op: 'task.update', id: theirs.id, title: 'X' }],
    [404, 'Task not found', { op: 'task.delete', id: 'nothing' }],
    [404, 'Subtask not found', { op: 'subtask.toggle', id: step.id }],
    [404, 'Subtask not found', { op: 'subtask.toggle', id: '#ok' }],
    [404, 'Comment not found', { op: 'comment.delete', id: absentId }],
    [404, 'Member not found', { op: 'member.remove', memberId: absentId }],
    [404, 'User not found', { op: 'member.invite', email: 'nobody@example.com' }],
    [409, 'This user is a member already', { op: 'member.invite', email: bea.email }],
    [
      409,
      'Not as in was: status, title',
      { op: 'task.update', id: task.id, was: { status: 'DONE', title: 'U', number: 1 } },
    ],
    [
      412,
      'The resource has changed: its ETag is not the one in If-Match',
      { op: 'task.delete', id: task.id, ifMatch: '"other"' },
    ],
  ]
  for (const [status, message, operation] of wrong) {
    const answer = await send([create('Fine', { as: 'ok' }), operation, create('After')])
    expectRefusal(answer, status, `operations[1]: ${message}`)
  }
  for (const op of ['project.create', 'project.delete', 'task.unassign', 'project.batch', '__proto__', 7]) {
    expectRefusal(
      await send([{ op, name: 'X' }]),
      400,
      /^operations\[0\]: op must be one of project.update, /,
    )
  }
  for (const one of [null, 7, 'task.create', []]) {
    expectRefusal(await send([one as never]), 400, /^operations\[0\]: op must be one of/)
  }
  expectRefusal(
    await send([create('X')], {}, '', {}, bea),
    403,
    'operations[0]: This needs the role EDITOR in the project',
  )
  const stranger = await register(service.client)
  expectRefusal(await send([create('X')], {}, '', {}, stranger), 404, 'Project not found')
  expect(await facts()).toEqual(before)
})

test('who is removed in a batch is not invited again in it', async () => {
  const { id: memberId } = await invite(ada, project.id, bea)
  const operations = [
    { op: 'member.remove', memberId },
    { op: 'member.invite', email: bea.email },
  ]
  const message = 'operations[1]: Who is removed in a batch cannot be invited again in it'
  expectRefusal(await send(operations), 409, message)
})

test('conditions hold: was and ifMatch of an operation, ifVersion and If-Match of the whole', async () => {
  const path = `/tasks/${task.id}`
  const update = (others: object) => ({ op: 'task.update', id: task.id, ...others })
  const etag = (await ada.get(path)).headers.get('etag')
  const first = update({ was: task, ifMatch: etag, status: 'DONE' })
  // What an operation before it did counts as well.
  const second = update({ was: { status: 'TODO' }, title: 'X' })
  expectRefusal(await send([first, second]), 409, 'operations[1]: Not as in was: status')
  expectRefusal(await send([first], { ifVersion: 1 }), 412, 'The project has another version than ifVersion')
  expect((await send([first], {}, '', { 'if-match': '"other"' })).status).toBe(412)
  expect(doneIn(await send([first], { ifVersion: 2 })).version).toBe(3)
  expect((await send([first], { ifVersion: 2 })).status).toBe(412)
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
  expect(await faultsOf(service.services.database.reads)).toEqual([])
})
