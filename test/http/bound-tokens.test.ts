import { expect, test } from 'bun:test'
import { type Body, invite, make, type Person, withToken } from '../support/client.ts'
import { expectError, isReplay } from './responses.ts'
import { endpoints } from './endpoints.ts'
import { createFullProject, openTeam } from './scene.ts'
import { allPages } from './list-pages.ts'

const { people, guest } = await openTeam(['Guest'])
/** What a token reaches, and what else its account has. */
const mine = await createFullProject(people, guest)
const other = await createFullProject(people, guest)

const boundTo = (who: Person, projects: string[]) => withToken(who, { projects })
const bound = await boundTo(people.owner, [mine.projectId])
const idsIn = (rows: Body[]) => rows.map(({ id }) => id)

test.each(endpoints)('$title: other projects are as absent', async ({ method, path, body, resource }) => {
  expectError(await bound.call(method, path(other), body?.(other)), 404, `${resource} not found`)
})

test.each(endpoints)(
  '$title: in its own project all is as without it',
  async ({ method, path, body, allowedRoles, status }) => {
    const things = await createFullProject(people, guest)
    const program = await boundTo(people[allowedRoles.at(-1)!], [things.projectId])
    expect((await program.call(method, path(things), body?.(things))).status).toBe(status)
  },
)

test('every refused write has left no trace', async () => {
  const task = await people.owner.get(`/tasks/${other.taskId}`)
  expect(task.body).toMatchObject({ title: 'Wheels', status: 'TODO' })
  expect((await people.owner.get(`/projects/${other.projectId}/members`)).body).toHaveLength(4)
})

test('what is in no project is refused, but for who it is', async () => {
  const message = 'This needs an API token that is not bound to projects'
  expectError(await bound.post('/projects', { name: 'P' }), 403, message)
  expect((await bound.get('/auth/me')).body.id).toBe(people.owner.id)
})

test('lists show only its projects, page by page, and say when nothing has changed', async () => {
  const { owner } = people
  const third = await make(owner, '/projects', { name: 'Third' })
  const shared = await make(guest, '/projects', { name: 'Shared' })
  await invite(guest, shared.id, people.owner, 'EDITOR')
  await make(guest, '/tasks', { title: 'There', projectId: shared.id })
  const some = await boundTo(owner, [mine.projectId, shared.id, other.memberId])
  const projects = [mine.projectId, shared.id].sort()
  expect(idsIn(await some.get('/projects').then(({ body }) => body)).sort()).toEqual(projects)
  expect((await allPages(some, '/projects?limit=1')).map(idsIn).flat().sort()).toEqual(projects)
  expect(idsIn((await owner.get('/projects')).body)).toContain(third.id)
  const { headers } = await some.get('/projects')
  const known = { 'if-none-match': headers.get('etag')! }
  expect((await some.get('/projects', known)).status).toBe(304)
  await owner.patch(`/projects/${mine.projectId}`, { name: 'Engine' + 1 })
  expect((await some.get('/projects', known)).status).toBe(200)
  for (const query of ['', '?sort=dueDate', '?sort=-createdAt&limit=200', '?status=TODO']) {
    const pages = await allPages(some, `/tasks${query}`)
    expect([...new Set(pages.flat().map(({ projectId }) => projectId))].sort()).toEqual(projects)
  }
  expectError(await some.get(`/tasks?projectId=${other.projectId}`), 404, 'Project not found')
  expect((await some.get(`/tasks?projectId=${mine.projectId}`)).body).toHaveLength(1)
})

test('tasks go neither into nor out of what it does not reach', async () => {
  const { owner } = people
  const move = (who: Person, id: string, projectId: string) => who.patch(`/tasks/${id}`, { projectId })
  expectError(await move(bound, mine.taskId, other.projectId), 404, 'Project not found')
  expectError(await move(bound, other.taskId, mine.projectId), 404, 'Task not found')
  const both = await boundTo(owner, [mine.projectId, other.projectId])
  const { id } = await make(owner, '/tasks', { title: 'Goes', projectId: mine.projectId })
  expect((await move(both, id, other.projectId)).status).toBe(200)
  // The place that this process remembers is not where the task is now.
  expectError(await bound.get(`/tasks/${id}`), 404, 'Task not found')
  expectError(await bound.patch(`/tasks/${id}`, { title: 'N' }), 404, 'Task not found')
  expectError(await bound.get(`/tasks/${id}/comments`), 404, 'Task not found')
})

test('a batch reaches only what is in its own project', async () => {
  const batch = (projectId: string, id: string) =>
    bound.post(`/projects/${projectId}/batch`, { operations: [{ op: 'task.update', id, title: 'N' }] })
  expectError(await batch(other.projectId, other.taskId), 404, 'Project not found')
  expectError(await batch(mine.projectId, other.taskId), 404, 'operations[0]: Task not found')
})

test('of a task that moved, what happened where it does not reach is left out', async () => {
  const { owner } = people
  const { id, createdAt } = await make(owner, '/tasks', { title: 'Goes', projectId: other.projectId })
  await owner.patch(`/tasks/${id}`, { projectId: mine.projectId })
  const types = async (who: Person) =>
    ((await who.get(`/tasks/${id}/history`)).body as unknown as { type: string }[]).map(({ type }) => type)
  expect(await types(owner)).toEqual(['task.moved_in', 'task.moved_out', 'task.created'])
  expect(await types(bound)).toEqual(['task.moved_in'])
  expect((await owner.get(`/tasks/${id}?asOf=${createdAt}`)).body.projectId).toBe(other.projectId)
  expectError(await bound.get(`/tasks/${id}?asOf=${createdAt}`), 404, 'Task not found')
  await owner.patch(`/tasks/${id}`, { projectId: other.projectId })
  expectError(await bound.get(`/tasks/${id}/history`), 404, 'Task not found')
  for (const path of [`/projects/${other.projectId}?`, `/tasks?projectId=${other.projectId}&`])
    expectError(await bound.get(`${path}asOf=1`), 404, 'Project not found')
})

test('feeds of other projects are absent, also as streams and held', async () => {
  for (const query of ['', '?wait=1&after=100000']) {
    const path = `/projects/${other.projectId}/events${query}`
    for (const accept of ['application/json', 'text/event-stream'])
      expectError(await bound.get(path, { accept }), 404, 'Project not found')
  }
})

test("a key is the token's own: an answer to another one is not repeated to it", async () => {
  const key = { 'idempotency-key': 'the same' }
  const body = { title: 'Once', projectId: other.projectId }
  expect((await people.owner.post('/tasks', body, key)).status).toBe(201)
  expectError(await bound.post('/tasks', body, key), 404, 'Project not found')
  const here = { title: 'Once', projectId: mine.projectId }
  const [first, again] = [await bound.post('/tasks', here, key), await bound.post('/tasks', here, key)]
  expect([first.status, again.text, isReplay(again)]).toEqual([201, first.text, true])
})
