import { beforeEach, expect, test } from 'bun:test'
import { newId } from '../../src/ids.ts'
import { purgeProject, purgeTask } from '../../workers/cascade.ts'
import { openPair, upTo } from '../races/pair.ts'
import { type Body, invite, make, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { unknownId, expectError } from './responses.ts'
import { forFile } from '../support/service.ts'

const taken = 'This id is already used; send a new UUIDv7'
let project: Body
let task: Body
const pair = await forFile(openPair())
const ada = pair.atA
beforeEach(async () => {
  project = await make(ada, '/projects', { name: 'P' })
  task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
})

/** What creates, given an id: alone, and in a batch. */
const creates: Record<string, (id: unknown) => [path: string, body: object]> = {
  project: (id) => ['/projects', { id, name: 'Own' }],
  task: (id) => ['/tasks', { id, title: 'Own', projectId: project.id }],
  subtask: (id) => [`/tasks/${task.id}/subtasks`, { id, title: 'Own' }],
  comment: (id) => [`/tasks/${task.id}/comments`, { id, text: 'Own' }],
}
const batch = (operations: object[]) => ada.post(`/projects/${project.id}/batch`, { operations })

for (const [what, createOf] of Object.entries(creates)) {
  test(`a ${what} takes the id that its client made, in upper case too, and gives it once`, async () => {
    const id = newId()
    const [path, body] = createOf(id.toUpperCase())
    const answer = await ada.post(path, body)
    expect([answer.status, answer.body.id]).toEqual([201, id])
    expect(answer.headers.get('location')).toContain(id)
    expectError(await ada.post(path, body), 409, taken)
    expectError(await pair.atB.post(path, body), 409, taken)
    expect(await faultsOf(pair.sql)).toEqual([])
  })

  test(`a ${what} takes no id of anything else, in whatever project`, async () => {
    const elsewhere = await make(ada, '/projects', { name: 'Q' })
    const other = await make(ada, '/tasks', { title: 'T', projectId: elsewhere.id })
    const subtask = await make(ada, `/tasks/${other.id}/subtasks`, { title: 'S' })
    const comment = await make(ada, `/tasks/${other.id}/comments`, { text: 'C' })
    const grace = await register(ada.as())
    const member = await invite(ada, elsewhere.id, grace)
    for (const { id } of [elsewhere, other, subtask, comment, grace, member])
      expectError(await ada.post(...createOf(id)), 409, taken)
  })

  test(`a ${what} takes no id but a UUIDv7`, async () => {
    const uuid4 = unknownId.replace('-7000-', '-4000-')
    for (const id of [7, null, '', 'x', `${unknownId}0`, uuid4, crypto.randomUUID()])
      expectError(await ada.post(...createOf(id)), 400, /^id must be a UUIDv7/)
  })

  test(`of creates of a ${what} under one id at once, in two processes and projects, one is done`, async () => {
    const id = newId()
    const others = await Promise.all(upTo(6).map((n) => make(ada, '/projects', { name: `P ${n}` })))
    const answers = await Promise.all(
      others.map(async (other, n) => {
        const [path, body] = createOf(id)
        const at = n % 2 ? ada : pair.atB
        if (what === 'task') return at.post(path, { ...body, projectId: other.id })
        if (what === 'project') return at.post(path, body)
        const near = await make(at, '/tasks', { title: 'Near', projectId: other.id })
        return at.post(path.replace(task.id, near.id), body)
      }),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    for (const answer of answers) if (answer.status === 409) expectError(answer, 409, taken)
    expect(await faultsOf(pair.sql)).toEqual([])
  })

  test(`a ${what} under its own id and an Idempotency-Key is answered again`, async () => {
    const key = { 'idempotency-key': `own-${what}` }
    const [path, body] = createOf(newId())
    const answers = await Promise.all(upTo(4).map((n) => (n % 2 ? ada : pair.atB).post(path, body, key)))
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })
}

test('an id that is taken in another project refuses its own write alone, whatever is committed with it', async () => {
  const id = newId()
  const other = await make(ada, '/projects', { name: 'Q' })
  const creates = upTo(40).map((n) => {
    const body = { title: `T ${n}`, projectId: n % 2 ? project.id : other.id }
    return ada.post('/tasks', n === 20 || n === 21 ? { ...body, id } : body)
  })
  const statuses = (await Promise.all(creates)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(39)
  expect(statuses.filter((status) => status === 409)).toHaveLength(1)
})

test('in a batch an id is taken by what came before it, and stands for it after', async () => {
  const [taskId, subtaskId] = [newId(), newId()]
  const create = { op: 'task.create', id: taskId, title: 'Own', as: 'own' }
  const step = { op: 'subtask.create', taskId, id: subtaskId, title: 'Step' }
  expectError(await batch([create, step, { ...create, as: 'two' }]), 409, `operations[2]: ${taken}`)
  const { status, body } = await batch([create, step, { op: 'task.update', id: '#own', title: 'Renamed' }])
  const { results } = body as unknown as { results: Body[] }
  expect([status, results.map(({ id }) => id)]).toEqual([200, [taskId, subtaskId, taskId]])
  expectError(await batch([create]), 409, `operations[0]: ${taken}`)
  expectError(await batch([{ ...create, id: '#own' }]), 400, /^operations\[0\]: id must be a UUIDv7/)
})

test('what had an id keeps it when it is gone, and all that hung on it', async () => {
  const [{ sql, atB }, gone] = [pair, task]
  const pace = { batchRows: 500, pauseMs: 0 }
  const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'Gone' })
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'Gone' })
  await ada.delete(`/tasks/subtasks/${subtask.id}`)
  await ada.delete(`/tasks/comments/${comment.id}`)
  await ada.delete(`/tasks/${task.id}`)
  await purgeTask(sql, { taskId: task.id }, pace)
  const other = await make(ada, '/projects', { name: 'Gone' })
  await ada.delete(`/projects/${other.id}`)
  await purgeProject(sql, other.id, pace)
  await sql`delete from outbox`
  task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
  for (const { id } of [subtask, comment, gone, other])
    for (const createOf of Object.values(creates))
      for (const who of [ada, atB]) expectError(await who.post(...createOf(id)), 409, taken)
})

test('things of two kinds never take the same id, by one request or by several at once', async () => {
  const given = (id: string) => [
    { op: 'task.create', id, title: 'Own' },
    { op: 'subtask.create', id, taskId: task.id, title: 'Own' },
    { op: 'comment.create', id, taskId: task.id, text: 'Own' },
  ]
  const operations = given(newId())
  for (const one of operations)
    for (const other of operations) expectError(await batch([one, other]), 409, `operations[1]: ${taken}`)
  for (const _ of upTo(10)) {
    const id = newId()
    const all = Object.entries(creates).filter(([what]) => what !== 'project')
    const answers = await Promise.all(all.map(([, createOf]) => ada.post(...createOf(id))))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('where things of two kinds have one id all the same, each of them is written', async () => {
  const grace = await register(ada.as())
  const { id } = await invite(ada, project.id, grace)
  await pair.sql`update tasks set id = ${id} where id = ${task.id}`
  const answer = await batch([
    { op: 'member.remove', memberId: id },
    { op: 'task.update', id, title: 'Written' },
  ])
  expect(answer.status).toBe(200)
  expect((await ada.get(`/projects/${project.id}/members`)).body as unknown).toEqual([])
  expect((await grace.get(`/projects/${project.id}`)).status).toBe(404)
  expect((await ada.get(`/tasks/${id}`)).body.title).toBe('Written')
})

test('where a thing has the id of the very task that it hangs on, both are found', async () => {
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'C' })
  const id = newId()
  await pair.sql`update tasks set id = ${id} where id = ${task.id}`
  await pair.sql`update comments set id = ${id}, task_id = ${id} where id = ${comment.id}`
  const answer = await ada.patch(`/tasks/comments/${id}`, { text: 'Written' })
  expect([answer.status, answer.body.text, answer.body.taskId]).toEqual([200, 'Written', id])
})
