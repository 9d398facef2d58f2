import { allPages, createFullProject, expectError, invite, isReplay, make, openTeam } from '../kit.ts'
import { readFeed, register, unknownId, withToken } from '../kit.ts'
import type { Client, Person } from '../kit.ts'

const { client, people, owner, editor, viewer, guest } = await openTeam(['Guest'])
const own = await createFullProject(people, guest)
const other = await createFullProject(people, guest)
const bind = (account: Person, projects: string[]) => withToken(account, { projects })
const bound = await bind(owner, [own.projectId])
const byScope = {
  read: await withToken(owner, { scopes: ['read'] }),
  write: await withToken(owner, { scopes: ['write'] }),
  admin: await withToken(owner),
}
const needed = (scope: string) => `This needs an API token with the scope ${scope}`
const inBatch = (by: Client, projectId: string, ...operations: object[]) =>
  by.post(`/projects/${projectId}/batch`, { operations })

test("a scope grants no more rights than the account's role, and a stranger gets 404 whatever the scope", async () => {
  const { projectId } = own
  const program = await withToken(viewer)
  expectError(await program.patch(`/projects/${projectId}`, { name: 'N' }), 403, /the role ADMIN/)
  expectError(await program.post('/tasks', { title: 'T', projectId }), 403, /the role EDITOR/)
  expect((await program.get(`/projects/${projectId}`)).status).toBe(200)
  const stranger = await withToken(people.stranger, { scopes: ['read'] })
  expectError(await stranger.patch(`/projects/${projectId}`, { name: 'N' }), 404, 'Project not found')
})

test('each operation of a batch needs its own scope, and the caller needs all rights before the first operation fails', async () => {
  const { projectId, memberId, taskId } = await createFullProject(people, guest)
  const write = { op: 'task.update', id: taskId, title: 'N' }
  const administer = { op: 'member.set_role', memberId, role: 'EDITOR' }
  expectError(await inBatch(byScope.read, projectId, write), 403, needed('write'))
  for (const first of [write, { ...write, id: unknownId }]) {
    const missing = await inBatch(byScope.write, projectId, first, administer)
    expectError(missing, 403, `operations[1]: ${needed('admin')}`)
  }
  expect((await owner.get(`/tasks/${taskId}`)).body.title).toBe('Wheels')
  expect((await inBatch(byScope.write, projectId, write)).status).toBe(200)
  expect((await inBatch(byScope.admin, projectId, write, administer)).status).toBe(200)
})

test('an undo needs the scope of the change that it undoes', async () => {
  const { projectId, memberId, taskId } = await createFullProject(people, guest)
  await owner.patch(`/tasks/${taskId}`, { title: 'N' })
  await owner.patch(`/projects/${projectId}/members/${memberId}/role`, { role: 'EDITOR' })
  const events = await readFeed(owner, `/projects/${projectId}/events`)
  const undo = (by: Client, type: string) =>
    by.post(`/projects/${projectId}/undo`, { seq: events.find((one) => one.type === type)!.seq })
  expectError(await undo(byScope.read, 'task.updated'), 403, needed('write'))
  expectError(await undo(byScope.write, 'member.role_set'), 403, /scope admin$/)
  expect((await undo(byScope.write, 'task.updated')).status).toBe(200)
  expect((await undo(byScope.admin, 'member.role_set')).status).toBe(200)
})

test("another member's comment can be deleted by an ADMIN with the scope admin, and edited by nobody", async () => {
  const { projectId, commentId: id } = await createFullProject(people, guest)
  const path = `/tasks/comments/${id}`
  const other = await register(client)
  await invite(owner, projectId, other, 'EDITOR')
  expectError(await other.delete(path), 403, 'Only the author or an admin may delete a comment')
  for (const one of [other, people.admin, owner])
    expectError(await one.patch(path, { text: 'N' }), 403, 'Only the author may edit a comment')
  expectError(await byScope.write.delete(path), 403, needed('admin'))
  const batched = await inBatch(byScope.write, projectId, { op: 'comment.delete', id })
  expectError(batched, 403, `operations[0]: ${needed('admin')}`)
  expect((await editor.patch(path, { text: 'Fast' })).status).toBe(200)
  expect((await byScope.admin.delete(path)).status).toBe(200)
})

test('a bound token cannot create a project, but can read its own account', async () => {
  const message = 'This needs an API token that is not bound to projects'
  expectError(await bound.post('/projects', { name: 'P' }), 403, message)
  expect((await bound.get('/auth/me')).body.id).toBe(owner.id)
})

test('lists contain only the projects that the token may read, page by page, and have a different ETag', async () => {
  const shared = await make(guest, '/projects', { name: 'Shared' })
  await invite(guest, shared.id, owner, 'EDITOR')
  await make(guest, '/tasks', { title: 'There', projectId: shared.id })
  const some = await bind(owner, [own.projectId, shared.id, other.memberId])
  const projects = [own.projectId, shared.id].sort()
  const list = await some.get('/projects')
  expect(list.body.map(({ id }) => id).sort()).toEqual(projects)
  expect((await allPages(some, '/projects?limit=1')).flatMap(([one]) => one!.id).sort()).toEqual(projects)
  const condition = { 'if-none-match': list.headers.get('etag')! }
  expect((await some.get('/projects', condition)).status).toBe(304)
  await owner.patch(`/projects/${own.projectId}`, { name: 'Engine 1' })
  expect((await some.get('/projects', condition)).status).toBe(200)
  for (const query of ['', '?sort=dueDate', '?sort=-createdAt&limit=200', '?status=TODO']) {
    const tasks = (await allPages(some, `/tasks${query}`)).flat()
    expect([...new Set(tasks.map(({ projectId }) => projectId))].sort()).toEqual(projects)
  }
})

test('a bound token finds no task of another project by a move, a batch, a cache or a feed', async () => {
  const move = (caller: Person, id: string, projectId: string) => caller.patch(`/tasks/${id}`, { projectId })
  expectError(await move(bound, own.taskId, other.projectId), 404, 'Project not found')
  expectError(await move(bound, other.taskId, own.projectId), 404, 'Task not found')
  const both = await bind(owner, [own.projectId, other.projectId])
  const { id } = await make(owner, '/tasks', { title: 'Moves', projectId: own.projectId })
  expect((await move(both, id, other.projectId)).status).toBe(200)
  // This process has cached the previous project of the task.
  for (const path of [`/tasks/${id}`, `/tasks/${id}/comments`])
    expectError(await bound.get(path), 404, 'Task not found')
  const update = { op: 'task.update', id: other.taskId, title: 'N' }
  expectError(await inBatch(bound, own.projectId, update), 404, 'operations[0]: Task not found')
  for (const query of ['', '?wait=1&after=100000'])
    for (const accept of ['application/json', 'text/event-stream']) {
      const path = `/projects/${other.projectId}/events${query}`
      expectError(await bound.get(path, { accept }), 404, 'Project not found')
    }
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

test('each token of an account has its own idempotency keys', async () => {
  const key = { 'idempotency-key': 'the same' }
  const create = (by: Client, projectId: string) => by.post('/tasks', { title: 'Once', projectId }, key)
  expect((await create(owner, other.projectId)).status).toBe(201)
  expectError(await create(bound, other.projectId), 404, 'Project not found')
  const [first, retry] = [await create(bound, own.projectId), await create(bound, own.projectId)]
  expect([first.status, retry.text, isReplay(retry)]).toEqual([201, first.text, true])
})
