import { expectError, invite, isReplay, make, newId, openScene, register, unknownId, upTo } from '../kit.ts'
import type { Answer } from '../kit.ts'

const { client, ada, grace } = await openScene(['Ada', 'Grace'])
const project = await make(ada, '/projects', { name: 'P' })
await invite(ada, project.id, grace, 'EDITOR')
const task = await make(ada, '/tasks', { title: 'T', projectId: project.id })

test('rejects a repeated query parameter with 400 and its name, in every operation', async () => {
  const repeated = {
    limit: ['limit=1&limit=1', 'limit=1&x=2&limit', 'limit=1&lim%69t=2', 'limit&limit'],
    ...{ 'a b': ['a+b=1&a%20b=2'], '%zz': ['%zz=1&%zz=2'], '""': ['=1&=2'] },
  }
  const paths = ['/projects', '/tasks', `/projects/${project.id}`, `/tasks/${task.id}/comments`, '/auth/me']
  for (const path of paths) {
    for (const [name, queries] of Object.entries(repeated))
      for (const query of queries)
        expectError(await ada.get(`${path}?${query}`), 400, `${name} is given more than once`)
    expectError(await ada.as().get(`${path}?limit=1&limit=1`), 401)
  }
  const patched = await ada.patch(`/tasks/${task.id}?a=1&a=1`, { title: 'U' })
  for (const response of [patched, await ada.post('/auth/login?a=1&a=1', {})])
    expectError(response, 400, 'a is given more than once')
  expect((await ada.get(`/tasks?status=TODO&&priority=MEDIUM&projectId=${project.id}&`)).body).toHaveLength(1)
})

test('a route without parameters rejects the first parameter with 400, by its decoded name', async () => {
  for (const path of ['/auth/me?a%62=1&c=2', '/auth/me?ab', '/auth/me?ab='])
    expectError(await ada.get(path), 400, 'ab is not known here')
})

test('paths, queries and bodies may contain ids in upper case', async () => {
  const up = (text: string) => text.toUpperCase()
  expect((await ada.get(`/projects/${up(project.id)}`)).body).toEqual(project)
  expect((await ada.get(`/tasks/${up(task.id)}`)).body).toEqual(task)
  const [member] = (await ada.get(`/projects/${up(project.id)}/members`)).body
  const role = `/projects/${up(project.id)}/members/${up(member!.id)}/role`
  expect((await ada.patch(role, { role: 'ADMIN' })).body.projectId).toBe(project.id)
  const body = { title: 'U', projectId: up(project.id), assigneeId: up(grace.id) }
  const created = await make(ada, '/tasks', body)
  expect(created).toMatchObject({ projectId: project.id, assigneeId: grace.id })
  const query = `projectId=${up(project.id)}&assigneeId=${up(grace.id)}`
  expect((await ada.get(`/tasks?${query}`)).body.map(({ id }) => id)).toEqual([created.id])
  const unchanged = await ada.patch(`/tasks/${up(task.id)}`, { projectId: up(project.id), assigneeId: null })
  expect(unchanged.body).toEqual(task)
  const other = await make(ada, '/projects', { name: 'Q' })
  const moved = await ada.patch(`/tasks/${created.id}`, { projectId: up(other.id) })
  expect(moved.body).toMatchObject({ projectId: other.id, number: 1 })
  const subtask = await make(ada, `/tasks/${up(task.id)}/subtasks`, { title: 'S' })
  expect(subtask.taskId).toBe(task.id)
  expect((await ada.patch(`/tasks/subtasks/${up(subtask.id)}/toggle`)).body.completed).toBeTrue()
  const comment = await make(ada, `/tasks/${up(task.id)}/comments`, { text: 'C' })
  expect((await ada.delete(`/tasks/comments/${up(comment.id)}`)).status).toBe(200)
  expectError(await ada.get(`/tasks/${up(unknownId)}`), 404)
  expectError(await ada.get(`/tasks?assigneeId=ME`), 400)
})

test('a 201 response names the created resource in Location, and so does a repeat with the same Idempotency-Key', async () => {
  const guest = await register(client)
  const members = `/projects/${project.id}/members`
  const creates: [path: string, body: object, location: string][] = [
    ['/projects', { name: 'L' }, '/projects'],
    ['/tasks', { title: 'L', projectId: project.id }, '/tasks'],
    [`${members}/invite`, { email: guest.email }, members],
    [`/tasks/${task.id}/subtasks`, { title: 'L' }, '/tasks/subtasks'],
    [`/tasks/${task.id}/comments`, { text: 'L' }, '/tasks/comments'],
  ]
  for (const [path, body, parent] of creates) {
    const key = { 'idempotency-key': path }
    const [first, retry] = [await ada.post(path, body, key), await ada.post(path, body, key)]
    const location = `${parent}/${first.body.id}`
    for (const { status, headers } of [first, retry])
      expect([status, headers.get('location')]).toEqual([201, `/api/v1${location}`])
    expect(isReplay(retry)).toBeTrue()
    const allow = (await ada.call('OPTIONS', location)).headers.get('allow')!
    if (allow.includes('GET')) expect((await ada.get(location)).body).toEqual(first.body)
    expect((await ada.delete(location)).status).toBe(200)
  }
  const account = { name: 'A', email: 'located@example.com', password: 'secret-1' }
  for (const _ of [1, 2]) {
    const { status, headers } = await client.post('/auth/register', account, { 'idempotency-key': 'k' })
    expect([status, headers.get('location')]).toEqual([201, '/api/v1/auth/me'])
  }
  const { headers } = await client.post('/auth/login', { email: account.email, password: 'secret-1' })
  expect(headers.get('location')).toBeNull()
})

const sendRetries = (send: (key: Record<string, string>) => Promise<Answer>): Promise<Answer[]> => {
  const key = { 'idempotency-key': newId() }
  const responses = upTo(8).map(async (n) => {
    for (let turn = 0; turn < n * 2; turn++) await new Promise(setImmediate)
    return send(key)
  })
  return Promise.all(responses)
}

test("concurrent repeats get the first response, even if the write lowered the caller's role or deleted the project", async () => {
  for (const _ of upTo(10)) {
    const { id } = await make(ada, '/projects', { name: 'P' })
    const member = await invite(ada, id, grace, 'ADMIN')
    const role = `/projects/${id}/members/${member.id}/role`
    const own = newId()
    for (const responses of [
      await sendRetries((key) => ada.post('/projects', { name: 'Own', id: own }, key)),
      await sendRetries((key) => grace.call('PATCH', role, { role: 'VIEWER' }, key)),
      await sendRetries((key) => ada.call('DELETE', `/projects/${id}`, undefined, key)),
    ]) {
      expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
      expect([200, 201]).toContain(responses[0]!.status)
    }
  }
})
