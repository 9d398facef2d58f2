import { allPages, createFullProject, expectError, invite, isReplay, make, openTeam } from '../kit.ts'
import { withToken } from '../kit.ts'
import type { Body, Person } from '../kit.ts'
import { endpoints } from './endpoints.ts'

const { people, owner, guest } = await openTeam(['Guest'])
const own = await createFullProject(people, guest)
const other = await createFullProject(people, guest)

const bindToken = (account: Person, projects: string[]) => withToken(account, { projects })
const bound = await bindToken(owner, [own.projectId])
const idsOf = (rows: Body[]) => rows.map(({ id }) => id)

test.each(endpoints)('$title: a bound token gets 404 in another project', async (endpoint) => {
  const { method, path, body, resource } = endpoint
  expectError(await bound.call(method, path(other), body?.(other)), 404, `${resource} not found`)
})

test.each(endpoints)('$title: a bound token works in its own project', async (endpoint) => {
  const { method, path, body, allowedRoles, status } = endpoint
  const parts = await createFullProject(people, guest)
  const program = await bindToken(people[allowedRoles.at(-1)!], [parts.projectId])
  expect((await program.call(method, path(parts), body?.(parts))).status).toBe(status)
})

test('all rejected writes together have changed nothing', async () => {
  const task = await owner.get(`/tasks/${other.taskId}`)
  expect(task.body).toMatchObject({ title: 'Wheels', status: 'TODO' })
  expect((await owner.get(`/projects/${other.projectId}/members`)).body).toHaveLength(4)
})

test('a bound token cannot create a project, but can read its own account', async () => {
  const message = 'This needs an API token that is not bound to projects'
  expectError(await bound.post('/projects', { name: 'P' }), 403, message)
  expect((await bound.get('/auth/me')).body.id).toBe(owner.id)
})

test('lists contain only the projects that the token may read, page by page, and have a different ETag', async () => {
  const third = await make(owner, '/projects', { name: 'Third' })
  const shared = await make(guest, '/projects', { name: 'Shared' })
  await invite(guest, shared.id, owner, 'EDITOR')
  await make(guest, '/tasks', { title: 'There', projectId: shared.id })
  const some = await bindToken(owner, [own.projectId, shared.id, other.memberId])
  const projects = [own.projectId, shared.id].sort()
  const list = await some.get('/projects')
  expect(idsOf(list.body).sort()).toEqual(projects)
  expect((await allPages(some, '/projects?limit=1')).map(idsOf).flat().sort()).toEqual(projects)
  expect(idsOf((await owner.get('/projects')).body)).toContain(third.id)
  const condition = { 'if-none-match': list.headers.get('etag')! }
  expect((await some.get('/projects', condition)).status).toBe(304)
  await owner.patch(`/projects/${own.projectId}`, { name: 'Engine 1' })
  expect((await some.get('/projects', condition)).status).toBe(200)
  for (const query of ['', '?sort=dueDate', '?sort=-createdAt&limit=200', '?status=TODO']) {
    const tasks = (await allPages(some, `/tasks${query}`)).flat()
    expect([...new Set(tasks.map(({ projectId }) => projectId))].sort()).toEqual(projects)
  }
  expectError(await some.get(`/tasks?projectId=${other.projectId}`), 404, 'Project not found')
  expect((await some.get(`/tasks?projectId=${own.projectId}`)).body).toHaveLength(1)
})

test('a bound token cannot move tasks into or out of another project', async () => {
  const move = (caller: Person, id: string, projectId: string) => caller.patch(`/tasks/${id}`, { projectId })
  expectError(await move(bound, own.taskId, other.projectId), 404, 'Project not found')
  expectError(await move(bound, other.taskId, own.projectId), 404, 'Task not found')
  const both = await bindToken(owner, [own.projectId, other.projectId])
  const { id } = await make(owner, '/tasks', { title: 'Moves', projectId: own.projectId })
  expect((await move(both, id, other.projectId)).status).toBe(200)
  // This process has cached the previous project of the task.
  expectError(await bound.get(`/tasks/${id}`), 404, 'Task not found')
  expectError(await bound.patch(`/tasks/${id}`, { title: 'N' }), 404, 'Task not found')
  expectError(await bound.get(`/tasks/${id}/comments`), 404, 'Task not found')
})

test('a batch of a bound token finds only tasks of its own project', async () => {
  const batch = (projectId: string, id: string) =>
    bound.post(`/projects/${projectId}/batch`, { operations: [{ op: 'task.update', id, title: 'N' }] })
  expectError(await batch(other.projectId, other.taskId), 404, 'Project not found')
  expectError(await batch(own.projectId, other.taskId), 404, 'operations[0]: Task not found')
})

test('the history of a moved task leaves out its time in another project', async () => {
  const { id, createdAt } = await make(owner, '/tasks', { title: 'Moves', projectId: other.projectId })
  await owner.patch(`/tasks/${id}`, { projectId: own.projectId })
  const types = async (reader: Person) =>
    ((await reader.get(`/tasks/${id}/history`)).body as unknown as { type: string }[]).map(({ type }) => type)
  expect(await types(owner)).toEqual(['task.moved_in', 'task.moved_out', 'task.created'])
  expect(await types(bound)).toEqual(['task.moved_in'])
  expect((await owner.get(`/tasks/${id}?asOf=${createdAt}`)).body.projectId).toBe(other.projectId)
  expectError(await bound.get(`/tasks/${id}?asOf=${createdAt}`), 404, 'Task not found')
  await owner.patch(`/tasks/${id}`, { projectId: other.projectId })
  expectError(await bound.get(`/tasks/${id}/history`), 404, 'Task not found')
  for (const path of [`/projects/${other.projectId}?`, `/tasks?projectId=${other.projectId}&`])
    expectError(await bound.get(`${path}asOf=1`), 404, 'Project not found')
})

test('feeds of other projects get 404, also as a stream and as a long poll', async () => {
  for (const query of ['', '?wait=1&after=100000'])
    for (const accept of ['application/json', 'text/event-stream']) {
      const path = `/projects/${other.projectId}/events${query}`
      expectError(await bound.get(path, { accept }), 404, 'Project not found')
    }
})

test('each token of an account has its own idempotency keys', async () => {
  const key = { 'idempotency-key': 'the same' }
  const body = { title: 'Once', projectId: other.projectId }
  expect((await owner.post('/tasks', body, key)).status).toBe(201)
  expectError(await bound.post('/tasks', body, key), 404, 'Project not found')
  const ownBody = { title: 'Once', projectId: own.projectId }
  const [first, retry] = [await bound.post('/tasks', ownBody, key), await bound.post('/tasks', ownBody, key)]
  expect([first.status, retry.text, isReplay(retry)]).toEqual([201, first.text, true])
})
