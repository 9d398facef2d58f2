import { expect, test } from 'bun:test'
import { type Client, invite, register } from '../support/client.ts'
import { unknownId, expectError, malformedIds } from './responses.ts'
import { type Endpoint, endpoints } from './endpoints.ts'
import { createFullProject, callers, type ProjectParts, openTeam } from './scene.ts'

const { client, people, guest } = await openTeam(['Guest'])
const untouched = await createFullProject(people, guest)

const call = (who: Client, { method, path, body }: Endpoint, things: ProjectParts) =>
  who.call(method, path(things), body?.(things))

const everywhere = (id: string): ProjectParts => ({
  ...(Object.fromEntries(Object.keys(untouched).map((name) => [name, id])) as ProjectParts),
  inviteeEmail: people.stranger.email,
})

test.each(endpoints)('$title: exactly the roles that may', async (endpoint) => {
  for (const who of callers) {
    const answer = await call(people[who], endpoint, await createFullProject(people, guest))
    if (endpoint.allowedRoles.includes(who)) expect([who, answer.status]).toEqual([who, endpoint.status])
    else if (who === 'stranger') expectError(answer, 404, `${endpoint.resource} not found`)
    else expectError(answer, 403)
  }
})

test.each(endpoints)('$title: not without a token', async (endpoint) => {
  expectError(await call(people.owner.as(), endpoint, untouched), 401)
  expectError(await call(people.owner.as('not.a.token'), endpoint, untouched), 401)
})

test.each(endpoints)('$title: a stranger learns no more than about what is absent', async (endpoint) => {
  const hidden = await call(people.stranger, endpoint, untouched)
  const absent = await call(people.stranger, endpoint, everywhere(unknownId))
  expectError(hidden, 404, `${endpoint.resource} not found`)
  expect(hidden.text).toBe(absent.text)
  expect([...hidden.headers.keys()]).toEqual([...absent.headers.keys()])
})

test('a stranger is refused alike whatever is in the body or missing from it', async () => {
  const path = `/projects/${untouched.projectId}`
  for (const body of [{ name: 'Other' }, { description: null }, {}])
    expectError(await people.stranger.patch(path, body), 404, 'Project not found')
})

test.each(endpoints)('$title: absent and malformed ids are not found', async (endpoint) => {
  for (const id of [unknownId, ...malformedIds])
    expectError(await call(people.owner, endpoint, everywhere(id)), 404, `${endpoint.resource} not found`)
})

test('every refused write has left no trace', async () => {
  const { owner } = people
  const [project, task] = [`/projects/${untouched.projectId}`, `/tasks/${untouched.taskId}`]
  expect((await owner.get(project)).body.name).toBe('Engine')
  expect((await owner.get(task)).body).toMatchObject({ title: 'Wheels', status: 'TODO' })
  expect((await owner.get(`${project}/members`)).body).toHaveLength(4)
  expect((await owner.get(`${task}/subtasks`)).body).toMatchObject([{ title: 'Oil', completed: false }])
  expect((await owner.get(`${task}/comments`)).body).toMatchObject([{ text: 'Slow' }])
  expect((await owner.get(`/tasks?projectId=${untouched.projectId}`)).body).toHaveLength(1)
})

test('what is in a deleted project is absent at once, for its owner too', async () => {
  const things = await createFullProject(people, guest)
  expect((await people.owner.delete(`/projects/${things.projectId}`)).status).toBe(200)
  for (const endpoint of endpoints)
    expectError(await call(people.owner, endpoint, things), 404, `${endpoint.resource} not found`)
})

test('what hangs on a deleted task is absent at once, but for its history', async () => {
  const things = await createFullProject(people, guest)
  expect((await people.owner.delete(`/tasks/${things.taskId}`)).status).toBe(200)
  for (const endpoint of endpoints.filter(({ resource: names }) =>
    ['Task', 'Subtask', 'Comment'].includes(names),
  )) {
    const { status } = endpoint
    if (endpoint.path(things).endsWith('/history'))
      expect(await call(people.viewer, endpoint, things)).toMatchObject({ status })
    else expectError(await call(people.editor, endpoint, things), 404, `${endpoint.resource} not found`)
  }
})

test('a removed member and a lowered role are refused with the very next request', async () => {
  const { projectId } = untouched
  const { owner } = people
  const helper = await register(client)
  const member = await invite(owner, projectId, helper, 'EDITOR')
  const path = `/projects/${projectId}/members/${member.id}`
  const work = () => helper.post(`/tasks/${untouched.taskId}/comments`, { text: 'Here' })
  expect((await work()).status).toBe(201)
  await owner.patch(`${path}/role`, { role: 'VIEWER' })
  expectError(await work(), 403)
  await owner.delete(path)
  expectError(await work(), 404, 'Task not found')
  expectError(await helper.get(`/projects/${projectId}`), 404)
})
