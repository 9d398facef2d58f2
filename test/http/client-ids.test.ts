import { expectError, faultsOf, invite, make, newId, openPair, purgeProject, purgeTask } from '../kit.ts'
import { register, unknownId, upTo } from '../kit.ts'
import type { Body } from '../kit.ts'

const taken = 'This id is already used; send a new UUIDv7'
let project: Body
let task: Body
const pair = await openPair()
const ada = pair.atA
beforeEach(async () => {
  project = await make(ada, '/projects', { name: 'P' })
  task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
})

type Request = [path: string, body: object]
type CreateOf = (id: unknown) => Request
const creates: [entity: string, CreateOf][] = [
  ['project', (id) => ['/projects', { id, name: 'Own' }]],
  ['task', (id) => ['/tasks', { id, title: 'Own', projectId: project.id }]],
  ['subtask', (id) => [`/tasks/${task.id}/subtasks`, { id, title: 'Own' }]],
  ['comment', (id) => [`/tasks/${task.id}/comments`, { id, text: 'Own' }]],
]
const inTask = creates.filter(([entity]) => entity !== 'project')
const batch = (operations: object[]) => ada.post(`/projects/${project.id}/batch`, { operations })
const statusesOf = async (answers: Promise<{ status: number }>[]) =>
  (await Promise.all(answers)).map(({ status }) => status).sort()

test.each(creates)(
  'a %s has the id that the client sent, in lower case, and the id cannot be used again',
  async (_, createOf) => {
    const id = newId()
    const [path, body] = createOf(id.toUpperCase())
    const answer = await ada.post(path, body)
    expect([answer.status, answer.body.id]).toEqual([201, id])
    expect(answer.headers.get('location')).toContain(id)
    for (const client of [ada, pair.atB]) expectError(await client.post(path, body), 409, taken)
    expect(await faultsOf(pair.sql)).toEqual([])
  },
)

test.each(creates)('a %s rejects the id of another resource in any project with 409', async (_, createOf) => {
  const elsewhere = await make(ada, '/projects', { name: 'Q' })
  const other = await make(ada, '/tasks', { title: 'T', projectId: elsewhere.id })
  const subtask = await make(ada, `/tasks/${other.id}/subtasks`, { title: 'S' })
  const comment = await make(ada, `/tasks/${other.id}/comments`, { text: 'C' })
  const grace = await register(ada.as())
  const member = await invite(ada, elsewhere.id, grace)
  for (const { id } of [elsewhere, other, subtask, comment, grace, member])
    expectError(await ada.post(...createOf(id)), 409, taken)
})

test.each(creates)('a %s rejects an id that is not a UUIDv7 with 400', async (_, createOf) => {
  const uuid4 = unknownId.replace('-7000-', '-4000-')
  for (const id of [7, null, '', 'x', `${unknownId}0`, uuid4, crypto.randomUUID()])
    expectError(await ada.post(...createOf(id)), 400, /^id must be a new UUIDv7/)
})

test.each(creates)('one of several concurrent creates of a %s with one id succeeds', async (_, createOf) => {
  const id = newId()
  const requests: Request[] = []
  for (const n of upTo(6)) {
    project = await make(ada, '/projects', { name: `P ${n}` })
    task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
    requests.push(createOf(id))
  }
  const answers = requests.map((request, n) => (n % 2 ? ada : pair.atB).post(...request))
  expect(await statusesOf(answers)).toEqual([201, 409, 409, 409, 409, 409])
  for (const answer of await Promise.all(answers)) if (answer.status === 409) expectError(answer, 409, taken)
  expect(await faultsOf(pair.sql)).toEqual([])
})

test.each(creates)('concurrent repeats create one %s and return one response', async (entity, createOf) => {
  const key = { 'idempotency-key': `own-${entity}` }
  const [path, body] = createOf(newId())
  const answers = await Promise.all(upTo(4).map((n) => (n % 2 ? ada : pair.atB).post(path, body, key)))
  const [first] = answers
  expect(first!.status).toBe(201)
  for (const { status, text } of answers) expect([status, text]).toEqual([201, first!.text])
})

test('a create with a taken id is rejected without affecting other commands in the same commit', async () => {
  const id = newId()
  const other = await make(ada, '/projects', { name: 'Q' })
  const answers = upTo(40).map((n) => {
    const body = { title: `T ${n}`, projectId: n % 2 ? project.id : other.id }
    return ada.post('/tasks', n === 20 || n === 21 ? { ...body, id } : body)
  })
  expect(await statusesOf(answers)).toEqual([...Array(39).fill(201), 409])
})

test('a batch rejects an id that an earlier operation used for its row, and later operations may refer to this row', async () => {
  const [taskId, subtaskId] = [newId(), newId()]
  const create = { op: 'task.create', id: taskId, title: 'Own', as: 'own' }
  const step = { op: 'subtask.create', taskId, id: subtaskId, title: 'Step' }
  expectError(await batch([create, step, { ...create, as: 'two' }]), 409, `operations[2]: ${taken}`)
  const { status, body } = await batch([create, step, { op: 'task.update', id: '#own', title: 'Renamed' }])
  const { results } = body as unknown as { results: Body[] }
  expect([status, results.map(({ id }) => id)]).toEqual([200, [taskId, subtaskId, taskId]])
  expectError(await batch([create]), 409, `operations[0]: ${taken}`)
  const deletion = { op: 'task.delete', id: '#own' }
  const again = { ...create, id: newId() }
  expectError(await batch([again, deletion, { ...again, as: 'two' }]), 409, `operations[2]: ${taken}`)
  expectError(await batch([{ ...create, id: '#own' }]), 400, /^operations\[0\]: id must be a new UUIDv7/)
})

test('an id stays taken after its resource, or the parent of the resource, is deleted', async () => {
  const { sql } = pair
  const throttle = { batchRows: 500, pauseMs: 0 }
  const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'S' })
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'C' })
  await ada.delete(`/tasks/subtasks/${subtask.id}`)
  await ada.delete(`/tasks/comments/${comment.id}`)
  await ada.delete(`/tasks/${task.id}`)
  await purgeTask(sql, { taskId: task.id }, throttle)
  const other = await make(ada, '/projects', { name: 'Q' })
  await ada.delete(`/projects/${other.id}`)
  await purgeProject(sql, other.id, throttle)
  await sql`delete from outbox`
  const deleted = [subtask, comment, task, other]
  task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
  for (const { id } of deleted)
    for (const [, createOf] of creates)
      for (const client of [ada, pair.atB]) expectError(await client.post(...createOf(id)), 409, taken)
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
    const answers = inTask.map(([, createOf]) => ada.post(...createOf(shared)))
    expect(await statusesOf(answers)).toEqual([201, 409, 409])
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('if old data contains a member and a task with the same id, each can be written', async () => {
  const grace = await register(ada.as())
  const { id } = await invite(ada, project.id, grace)
  await pair.sql`update tasks set id = ${id} where id = ${task.id}`
  const remove = { op: 'member.remove', memberId: id }
  expect((await batch([remove, { op: 'task.update', id, title: 'Written' }])).status).toBe(200)
  expect((await ada.get(`/projects/${project.id}/members`)).text).toBe('[]')
  expect((await grace.get(`/projects/${project.id}`)).status).toBe(404)
  expect((await ada.get(`/tasks/${id}`)).body.title).toBe('Written')
})

test('if old data contains a comment with the id of its task, both are found', async () => {
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'C' })
  const id = newId()
  await pair.sql`update tasks set id = ${id} where id = ${task.id}`
  await pair.sql`update comments set id = ${id}, task_id = ${id} where id = ${comment.id}`
  const answer = await ada.patch(`/tasks/comments/${id}`, { text: 'Written' })
  expect([answer.status, answer.body.text, answer.body.taskId]).toEqual([200, 'Written', id])
})
