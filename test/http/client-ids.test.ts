import { expectError, faultsOf, holdTransaction, invite, make, newId, openPair } from '../kit.ts'
import { purgeProject, purgeTask, register, statuses, unknownId, untilBlocked, upTo } from '../kit.ts'
import type { Body, Client, Sql } from '../kit.ts'

const taken = 'This id is already used; send a new UUIDv7'
let project: Body
let task: Body
const { atA: ada, atB, sql } = await openPair()
const open = async (name = 'P') => {
  project = await make(ada, '/projects', { name })
  task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
}
beforeEach(() => open())

const creates = ['project', 'task', 'subtask', 'comment'] as const
type Request = [path: string, body: object]
const createOf = (entity: string, id: unknown): Request =>
  ({
    project: ['/projects', { id, name: 'Own' }] satisfies Request,
    task: ['/tasks', { id, title: 'Own', projectId: project.id }] satisfies Request,
    subtask: [`/tasks/${task.id}/subtasks`, { id, title: 'Own' }] satisfies Request,
    comment: [`/tasks/${task.id}/comments`, { id, text: 'Own' }] satisfies Request,
  })[entity]!
const batch = (operations: object[]) => ada.post(`/projects/${project.id}/batch`, { operations })
const addChildren = async (taskId: string) => [
  await make(ada, `/tasks/${taskId}/subtasks`, { title: 'S' }),
  await make(ada, `/tasks/${taskId}/comments`, { text: 'C' }),
]
const byTurns = (n: number): Client => (n % 2 ? ada : atB)

test.each(creates)(
  'a %s has the id that the client sent, in lower case, and the id cannot be used again',
  async (entity) => {
    const id = newId()
    const [path, body] = createOf(entity, id.toUpperCase())
    const answer = await ada.post(path, body)
    expect([answer.status, answer.body.id]).toEqual([201, id])
    expect(answer.headers.get('location')).toContain(id)
    for (const client of [ada, atB]) expectError(await client.post(path, body), 409, taken)
    const uuid4 = unknownId.replace('-7000-', '-4000-')
    for (const wrong of [7, null, '', 'x', `${unknownId}0`, uuid4, crypto.randomUUID()])
      expectError(await ada.post(...createOf(entity, wrong)), 400, /^id must be a new UUIDv7/)
    const elsewhere = await make(ada, '/projects', { name: 'Q' })
    const other = await make(ada, '/tasks', { title: 'T', projectId: elsewhere.id })
    const grace = await register(ada.as())
    const others = [elsewhere, other, grace, await invite(ada, elsewhere.id, grace)]
    for (const one of [...others, ...(await addChildren(other.id))])
      expectError(await ada.post(...createOf(entity, one.id)), 409, taken)
    expect(await faultsOf(sql)).toEqual([])
  },
)

test.each(creates)(
  'one of several concurrent creates of a %s with one id succeeds, and repeats get its response',
  async (entity) => {
    const [id, own] = [newId(), newId()]
    const requests: Request[] = []
    for (const n of upTo(6)) {
      await open(`P ${n}`)
      requests.push(createOf(entity, id))
    }
    const answers = await Promise.all(requests.map((request, n) => byTurns(n).post(...request)))
    expect(statuses(answers)).toEqual({ 201: 1, 409: 5 })
    for (const answer of answers) if (answer.status === 409) expectError(answer, 409, taken)
    const key = { 'idempotency-key': `own-${entity}` }
    const repeats = await Promise.all(upTo(4).map((n) => byTurns(n).post(...createOf(entity, own), key)))
    for (const { status, text } of repeats) expect([status, text]).toEqual([201, repeats[0]!.text])
    expect(await faultsOf(sql)).toEqual([])
  },
)

test('a create with a taken id is rejected without affecting other commands in the same commit', async () => {
  const id = newId()
  const other = await make(ada, '/projects', { name: 'Q' })
  const answers = upTo(40).map((n) => {
    const body = { title: `T ${n}`, projectId: n % 2 ? project.id : other.id }
    return ada.post('/tasks', n === 20 || n === 21 ? { ...body, id } : body)
  })
  expect(statuses(await Promise.all(answers))).toEqual({ 201: 39, 409: 1 })
})

test('an id stays taken after its resource, or the parent of the resource, is deleted', async () => {
  const throttle = { batchRows: 500, pauseMs: 0 }
  const [subtask, comment] = await addChildren(task.id)
  const paths = [`/tasks/subtasks/${subtask!.id}`, `/tasks/comments/${comment!.id}`, `/tasks/${task.id}`]
  const other = await make(ada, '/projects', { name: 'Q' })
  const unpurged = await make(ada, '/tasks', { title: 'T', projectId: project.id })
  for (const path of [...paths, `/projects/${other.id}`, `/tasks/${unpurged.id}`])
    expect((await ada.delete(path)).status).toBe(200)
  await purgeTask(sql, { taskId: task.id }, throttle)
  await purgeProject(sql, other.id, throttle)
  await sql`delete from outbox where data ->> 'taskId' is distinct from ${unpurged.id}`
  await sql`delete from events where task_id = ${unpurged.id}`
  const deleted = [subtask!, comment!, task, other, unpurged]
  await open()
  for (const { id } of deleted)
    for (const entity of creates)
      for (const client of [ada, atB]) expectError(await client.post(...createOf(entity, id)), 409, taken)
  await ada.delete(`/projects/${unpurged.projectId}`)
})

test('of many concurrent requests with one external id, one creates the task', async () => {
  const path = `/projects/${project.id}/tasks/external/A`
  const answers = await Promise.all(upTo(40).map((n) => byTurns(n).call('PUT', path, { title: `T${n}` })))
  expect(statuses(answers)).toEqual({ 200: 39, 201: 1 })
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
})

test('two entities never get the same id, from one batch or from concurrent requests', async () => {
  const id = newId()
  const operations = [
    { op: 'task.create', id, title: 'Own' },
    { op: 'subtask.create', id, taskId: task.id, title: 'Own' },
    { op: 'comment.create', id, taskId: task.id, text: 'Own' },
  ]
  for (const one of operations)
    for (const other of operations) expectError(await batch([one, other]), 409, `operations[1]: ${taken}`)
  for (const _ of upTo(10)) {
    const shared = newId()
    const answers = creates.slice(1).map((entity) => ada.post(...createOf(entity, shared)))
    expect(statuses(await Promise.all(answers))).toEqual({ 201: 1, 409: 2 })
  }
  expect(await faultsOf(sql)).toEqual([])
})

test('if old data contains two rows with one id, each can be found and written', async () => {
  const grace = await register(ada.as())
  const { id } = await invite(ada, project.id, grace)
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'C' })
  await sql`update tasks set id = ${id} where id = ${task.id}`
  await sql`update comments set id = ${id}, task_id = ${id} where id = ${comment.id}`
  const answer = await ada.patch(`/tasks/comments/${id}`, { text: 'Written' })
  expect([answer.status, answer.body.text, answer.body.taskId]).toEqual([200, 'Written', id])
  const remove = { op: 'member.remove', memberId: id }
  expect((await batch([remove, { op: 'task.update', id, title: 'Written' }])).status).toBe(200)
  expect((await ada.get(`/projects/${project.id}/members`)).text).toBe('[]')
  expect((await grace.get(`/projects/${project.id}`)).status).toBe(404)
  expect((await ada.get(`/tasks/${id}`)).body.title).toBe('Written')
})

const claim = (tx: Sql, id: string) =>
  tx`insert into idempotency_keys (scope, key, fingerprint, status, body) values ('ids', ${id}, '', 0, '')`
const writeInto = (table: string) => (tx: Sql, id: string) =>
  tx`update ${tx(table)} set id = ${id} where ${tx(table === 'tasks' ? 'id' : 'task_id')} = ${task.id}`
const uses: [how: string, entities: (typeof creates)[number][], use: (tx: Sql, id: string) => unknown][] = [
  ['claims its id', [...creates], claim],
  ['writes a task', ['task'], writeInto('tasks')],
  ['writes a subtask', ['subtask'], writeInto('subtasks')],
  ['writes a comment', ['comment'], writeInto('comments')],
]

test.each(uses)('a create gets 409 if a commit of another project %s first', async (_, entities, use) => {
  for (const entity of entities) {
    const id = newId()
    await addChildren(task.id)
    const commit = await holdTransaction(sql, async (tx) => use(tx as never, id))
    await open('Q')
    const waiting = ada.post(...createOf(entity, id))
    await untilBlocked(sql)
    await commit()
    expectError(await waiting, 409, taken)
  }
})
