import { callers, createFullProject, expectError, malformedIds, openTeam, unknownId } from '../kit.ts'
import type { Client, ProjectParts } from '../kit.ts'
import { type Endpoint, endpoints } from './endpoints.ts'

const { people, owner, stranger, guest } = await openTeam(['Guest'])
const untouched = await createFullProject(people, guest)

const members = callers.filter((role) => role !== 'stranger')

const call = (caller: Client, { method, path, body }: Endpoint, parts: ProjectParts) =>
  caller.call(method, path(parts), body?.(parts))

async function expectNotFound(caller: Client, endpoint: Endpoint, parts: ProjectParts): Promise<void> {
  expectError(await call(caller, endpoint, parts), 404, `${endpoint.resource} not found`)
}

const allWithId = (id: string): ProjectParts => ({
  ...(Object.fromEntries(Object.keys(untouched).map((name) => [name, id])) as ProjectParts),
  inviteeEmail: stranger.email,
})

test.each(endpoints)('$title: succeeds for the allowed roles only', async (endpoint) => {
  const { allowedRoles, status, method } = endpoint
  await expectNotFound(stranger, endpoint, untouched)
  for (const role of members) {
    const isAllowed = allowedRoles.includes(role)
    const parts = isAllowed && method !== 'GET' ? await createFullProject(people, guest) : untouched
    const response = await call(people[role], endpoint, parts)
    if (isAllowed) expect([role, response.status]).toEqual([role, status])
    else expectError(response, 403)
  }
})

test.each(endpoints)('$title: a stranger gets the response for an unknown id', async (endpoint) => {
  await expectNotFound(stranger, endpoint, untouched)
  const hidden = await call(stranger, endpoint, untouched)
  const unknown = await call(stranger, endpoint, allWithId(unknownId))
  expect(hidden.text).toBe(unknown.text)
  expect([...hidden.headers.keys()]).toEqual([...unknown.headers.keys()])
})

test('a stranger gets the same response for every body', async () => {
  for (const body of [{ name: 'Other' }, { description: null }, {}])
    expectError(await stranger.patch(`/projects/${untouched.projectId}`, body), 404, 'Project not found')
})

test.each(endpoints)('$title: rejects unknown and malformed ids with 404', async (endpoint) => {
  for (const id of [unknownId, ...malformedIds]) await expectNotFound(owner, endpoint, allWithId(id))
})

test('all rejected writes together have changed nothing', async () => {
  const [project, task] = [`/projects/${untouched.projectId}`, `/tasks/${untouched.taskId}`]
  expect((await owner.get(project)).body.name).toBe('Engine')
  expect((await owner.get(task)).body).toMatchObject({ title: 'Wheels', status: 'TODO' })
  expect((await owner.get(`${project}/members`)).body).toHaveLength(4)
  expect((await owner.get(`${task}/subtasks`)).body).toMatchObject([{ title: 'Oil', completed: false }])
  expect((await owner.get(`${task}/comments`)).body).toMatchObject([{ text: 'Slow' }])
  expect((await owner.get(`/tasks?projectId=${untouched.projectId}`)).body).toHaveLength(1)
})

test('everything in a deleted project gets 404 immediately, also for its owner', async () => {
  const parts = await createFullProject(people, guest)
  expect((await owner.delete(`/projects/${parts.projectId}`)).status).toBe(200)
  for (const endpoint of endpoints) await expectNotFound(owner, endpoint, parts)
})

test("a deleted task and its children get 404 immediately, but the task's history can still be read", async () => {
  const parts = await createFullProject(people, guest)
  expect((await owner.delete(`/tasks/${parts.taskId}`)).status).toBe(200)
  for (const endpoint of endpoints.filter(({ resource }) => /Task|Subtask|Comment/.test(resource))) {
    if (!endpoint.path(parts).endsWith('/history')) await expectNotFound(people.editor, endpoint, parts)
    else expect((await call(people.viewer, endpoint, parts)).status).toBe(endpoint.status)
  }
})
