import { type Answer, type Body, faultsOf, make, makeProjects, openStream, takeEvents } from '../kit.ts'
import { openBehindProxy } from './behind-proxy.ts'

let project: Body
const { proxy, sql, ada, web } = await openBehindProxy()
beforeEach(async () => void (project = await make(ada, '/projects', { name: 'Cut off' })))

let marks = 0
const nextMark = () => `marked-${++marks}`
const count = async (type: string, mark: string) =>
  (await sql`select 1 from events where type = ${type} and after::text like ${`%${mark}%`}`).length

async function withLostResponse(mark: string, send: () => Promise<Answer>): Promise<Answer> {
  const cut = proxy.cutAnswer(mark)
  const [answer] = await Promise.all([send(), cut])
  return answer
}

async function createWithLostCommit(title: string) {
  const request = proxy.hold(title)
  const answer = ada.post('/tasks', { title, projectId: project.id })
  await request.held
  request.cut()
  expect((await answer).status).toBe(201)
  return request
}

test('a task whose commit response was lost is created once, and the request returns 201', async () => {
  const title = nextMark()
  const { status, body } = await withLostResponse(title, () =>
    ada.post('/tasks', { title, projectId: project.id }),
  )
  expect(status).toBe(201)
  expect((await ada.get(`/tasks/${body.id}`)).body).toEqual(body)
  expect(await count('task.created', title)).toBe(1)
  expect((await make(ada, '/tasks', { title: 'Next', projectId: project.id })).number).toBe(2)
  expect(await faultsOf(sql)).toEqual([])
})

test('a project whose commit response was lost is created once, and the request returns 201', async () => {
  const name = nextMark()
  const { status, body } = await withLostResponse(name, () => ada.post('/projects', { name }))
  expect(status).toBe(201)
  expect((await ada.get(`/projects/${body.id}`)).body).toEqual(body)
  expect(await count('project.created', name)).toBe(1)
})

test('a toggle whose commit response was lost is applied once', async () => {
  const task = await make(ada, '/tasks', { title: 'Toggled', projectId: project.id })
  const mark = nextMark()
  const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: mark })
  const { status, body } = await withLostResponse(mark, () =>
    ada.patch(`/tasks/subtasks/${subtask.id}/toggle`),
  )
  expect({ status, completed: body.completed }).toEqual({ status: 200, completed: true })
  expect(await count('subtask.toggled', mark)).toBe(1)
  expect(await faultsOf(sql)).toEqual([])
})

test('a move and a deletion whose commit responses were lost are applied once', async () => {
  const other = await make(ada, '/projects', { name: 'Other' })
  const title = nextMark()
  const task = await make(ada, '/tasks', { title, projectId: project.id })
  const path = `/tasks/${task.id}`
  const moved = await withLostResponse(title, () => ada.patch(path, { projectId: other.id }))
  expect(moved.status).toBe(200)
  expect(moved.body).toMatchObject({ projectId: other.id, number: 1 })
  expect(await count('task.moved_in', title)).toBe(1)
  expect((await withLostResponse(title, () => ada.delete(path))).status).toBe(200)
  expect((await ada.get(path)).status).toBe(404)
  expect(await faultsOf(sql)).toEqual([])
})

test('a batch whose commit response was lost is applied once, and returns its results', async () => {
  const title = nextMark()
  const operations = [
    { op: 'task.create', as: 'new', title },
    { op: 'subtask.create', taskId: '#new', title: 'Step' },
    { op: 'task.update', id: '#new', status: 'TODO' },
    { op: 'task.create', title: `${title} too` },
  ]
  const path = `/projects/${project.id}/batch?return=full`
  const { status, body } = await withLostResponse(title, () => ada.post(path, { operations }))
  const { version, results } = body as unknown as { version: number; results: Body[] }
  expect([status, version]).toEqual([200, 4])
  expect(results.map(({ number }) => number)).toEqual([1, undefined, 1, 2] as number[])
  for (const n of [0, 2, 3]) expect((await ada.get(`/tasks/${results[n]!.id}`)).body).toEqual(results[n]!)
  expect(await count('task.created', title)).toBe(2)
  expect(await faultsOf(sql)).toEqual([])
})

test('a commit that did not reach the database is retried', async () => {
  const title = nextMark()
  await createWithLostCommit(title)
  expect(await count('task.created', title)).toBe(1)
})

test('a commit that reaches the database after its retry writes nothing', async () => {
  const title = nextMark()
  const request = await createWithLostCommit(title)
  await make(ada, '/tasks', { title: 'Between', projectId: project.id })
  await request.deliver()
  expect(await count('task.created', title)).toBe(1)
  expect((await make(ada, '/tasks', { title: 'Next', projectId: project.id })).number).toBe(3)
  expect(await faultsOf(sql)).toEqual([])
})

test('a stream has every committed event once and in order, even when commit responses are lost', async () => {
  const { messages, stop } = await openStream(ada, web, `/projects/${project.id}/events`)
  await messages.next()
  const add = (title: string) => make(ada, '/tasks', { title, projectId: project.id })
  for (let round = 0; round < 3; round++) {
    await add('Before')
    const lost = nextMark()
    await withLostResponse(lost, () => ada.post('/tasks', { title: lost, projectId: project.id }))
    await add('Between')
    await createWithLostCommit(nextMark())
  }
  const received = await takeEvents(messages, 12)
  const { body } = await ada.get(`/projects/${project.id}/events?after=1`)
  expect(received.map(({ data }) => data as unknown)).toEqual([...body])
  expect(body.length).toBe(12)
  stop()
})

test('a second undo of a deletion returns 409, even if the task is deleted in another project during the undo', async () => {
  const [here, there] = (await makeProjects(ada, 2)) as [string, string]
  const { id } = await make(ada, '/tasks', { title: 'Of old', projectId: here })
  await ada.delete(`/tasks/${id}`)
  const undo = (seq: number) => ada.post(`/projects/${here}/undo`, { seq })
  expect((await undo(3)).status).toBe(200)
  await ada.patch(`/tasks/${id}`, { title: 'Renewed' })
  expect((await ada.patch(`/tasks/${id}`, { projectId: there })).status).toBe(200)
  // If the undo were accepted, this would be its commit.
  const commit = proxy.hold('Of old')
  const undone = undo(3)
  const isHeld = await Promise.race([commit.held.then(() => true), undone.then(() => false)])
  expect((await ada.delete(`/tasks/${id}`)).status).toBe(200)
  if (isHeld) await commit.deliver()
  expect((await undone).status).toBe(409)
  expect((await ada.get(`/tasks/${id}`)).status).toBe(404)
  expect(await faultsOf(sql)).toEqual([])
})
