import { expectError, invite, isReplay, make, newId, nextPath, openProject, openTeam } from '../kit.ts'
import { register, unknownId, upTo } from '../kit.ts'
import type { Answer, Person } from '../kit.ts'

const { client, ada, grace, people, owner, editor, viewer, stranger, countEvents } = await openTeam([
  'Ada',
  'Grace',
])
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

const projectId = await openProject(people)
await make(owner, '/projects', { name: 'A project without members' })
for (const assigneeId of [owner.id, editor.id, owner.id, editor.id])
  await make(owner, '/tasks', { title: 'Wheels', projectId, assigneeId, dueDate: '2030-01-01' })
const taskId = (await make(owner, '/tasks', { title: 'Talk', projectId })).id
const subtaskId = (await make(owner, `/tasks/${taskId}/subtasks`, { title: 'Oil' })).id
await make(editor, `/tasks/${taskId}/comments`, { text: 'Slow' })
const paths = {
  project: `/projects/${projectId}`,
  task: `/tasks/${taskId}`,
  members: `/projects/${projectId}/members`,
  tasks: `/tasks?projectId=${projectId}`,
  subtasks: `/tasks/${taskId}/subtasks`,
  comments: `/tasks/${taskId}/comments`,
}
const assigned = `${paths.tasks}&assigneeId=me`
/** All kinds of reads; the owner and the editor may send each of them. */
const reads: string[] = [
  ...['/auth/me', '/projects', '/projects?limit=1', ...Object.values(paths)],
  ...[`${paths.project}/events?limit=3`, '/tasks', '/tasks?assigneeId=me'],
  ...[assigned, `${assigned}&status=TODO`, `${assigned}&sort=-dueDate`, `${assigned}&dueAfter=2029-01-01`],
  nextPath((await owner.get(`${assigned}&limit=1`)).headers)!,
]

const tagOf = async (path: string, reader: Person = viewer) => (await reader.get(path)).headers.get('etag')!
const revalidate = (path: string, tag: string, reader: Person = viewer) =>
  reader.get(path, { 'if-none-match': tag })

test('a matching If-None-Match gets 304 without a body, with the version of the project', async () => {
  for (const path of Object.values(paths)) {
    const tag = await tagOf(path)
    expect(tag).toMatch(/^"[^"]+"$/)
    for (const matching of [tag, `W/${tag}`, `"other", ${tag}`, '*', `W/"x",W/${tag}`]) {
      const { status, text, headers } = await revalidate(path, matching)
      expect([status, text, headers.get('etag')]).toEqual([304, '', tag])
      expect(headers.get('x-request-id')).toBeTruthy()
      expect(Number(headers.get('docket-version'))).toBeGreaterThan(8)
    }
    expect((await revalidate(path, `W/${tag.slice(0, -1)}-br"`)).status).toBe(304)
    for (const other of ['"other"', tag.slice(1, -1), '""', 'garbage, "'])
      expect((await revalidate(path, other)).status).toBe(200)
  }
})

test('with every If-None-Match, a stranger gets 404 and a caller without a token gets 401', async () => {
  for (const path of Object.values(paths))
    for (const tag of [await tagOf(path), '*']) {
      expectError(await revalidate(path, tag, stranger), 404)
      expectError(await viewer.as().get(path, { 'if-none-match': tag }), 401)
    }
})

test('a write returns the ETag that a read of the resource returns', async () => {
  const created = await owner.post('/tasks', { title: 'T', projectId })
  const path = `/tasks/${created.body.id}`
  expect(await tagOf(path)).toBe(created.headers.get('etag')!)
  const changed = await owner.patch(path, { title: 'U' })
  expect(changed.headers.get('etag')).not.toBe(created.headers.get('etag'))
  expect(await tagOf(path)).toBe(changed.headers.get('etag')!)
})

test('the ETag of a resource changes only when the resource changes', async () => {
  const before = await tagOf(paths.task)
  await owner.patch(paths.project, { description: 'Changed' })
  await owner.patch(`/tasks/subtasks/${subtaskId}/toggle`)
  expect((await revalidate(paths.task, before)).status).toBe(304)
  await owner.patch(paths.task, { status: 'DONE' })
  const after = await revalidate(paths.task, before)
  expect([after.status, after.body.status]).toEqual([200, 'DONE'])
})

const changes: [list: keyof typeof paths, change: () => Promise<unknown>][] = [
  ['tasks', () => owner.patch(paths.task, { priority: 'HIGH' })],
  ['subtasks', () => owner.patch(`/tasks/subtasks/${subtaskId}/toggle`)],
  ['comments', () => make(owner, paths.comments, { text: 'New' })],
  ['members', async () => invite(owner, projectId, await register(client))],
]

test.each(changes)('the list of %s has a new ETag immediately after a change', async (list, change) => {
  const before = await viewer.get(paths[list])
  await change()
  const after = await revalidate(paths[list], before.headers.get('etag')!)
  expect([after.status, after.text === before.text]).toEqual([200, false])
})

test('a moved task has new ETags, even if both projects are at the same version', async () => {
  const otherId = await openProject(people, 'Other')
  const { id } = await make(owner, '/tasks', { title: 'T', projectId })
  const path = `/tasks/${id}/subtasks`
  const lead = async () => (await countEvents(projectId)) - (await countEvents(otherId))
  // The move and the new subtask bring the other project to the version of this project.
  for (let by = await lead(); by !== 2; by = await lead())
    await make(owner, '/tasks', { title: 'Filler', projectId: by < 2 ? projectId : otherId })
  const before = await tagOf(path)
  await owner.patch(`/tasks/${id}`, { projectId: otherId })
  await make(owner, path, { title: 'S' })
  const after = await revalidate(path, before)
  expect([after.status, after.body?.length]).toEqual([200, 1])
})

test('two callers who get different bodies get different ETags', async () => {
  const differing: string[] = []
  for (const path of reads) {
    const [one, other] = [await owner.get(path), await editor.get(path)]
    expect([path, one.status, other.status]).toEqual([path, 200, 200])
    const [tag = '', otherTag = ''] = [one, other].map(({ headers }) => headers.get('etag') ?? '"none"')
    if (tag !== otherTag) differing.push(path)
    if (one.text === other.text) continue
    expect([path, (await revalidate(path, tag, editor)).text]).toEqual([path, other.text])
    expect([path, (await revalidate(path, otherTag, owner)).text]).toEqual([path, one.text])
  }
  const dependsOnCaller = (path: string) =>
    /auth|me\b|\/projects(\?|$)/.test(path) && path !== '/tasks?assigneeId=me'
  expect(differing).toEqual(reads.filter(dependsOnCaller))
})

const cacheHeaders = { 'cache-control': 'private, no-cache', vary: 'Authorization' }
const cacheHeadersOf = ({ headers }: { headers: Headers }) =>
  Object.fromEntries(
    Object.keys(cacheHeaders).map((name) => [name, headers.get(name)?.replace(', Accept-Encoding', '')]),
  )

test('reads have Cache-Control: private, no-cache; responses that contain a token have no-store', async () => {
  for (const path of reads) {
    // Accept selects the representation of events: JSON or a stream.
    const expected = path.includes('/events')
      ? { ...cacheHeaders, vary: 'Authorization, Accept' }
      : cacheHeaders
    const response = await owner.get(path)
    const second = await revalidate(path, response.headers.get('etag') ?? '"none"', owner)
    expect([path, second.status]).toEqual([path, response.headers.has('etag') ? 304 : 200])
    const [unauthorized, invalid] = [
      await owner.as().get(path),
      await owner.get(path.replace(/\?.*|$/, '?unknown=1')),
    ]
    for (const one of [response, second, unauthorized, invalid])
      expect([path, cacheHeadersOf(one)]).toEqual([path, expected])
  }
  expect(cacheHeadersOf(await owner.get('/projects/none'))).toEqual(cacheHeaders)
  const account = { name: 'Eve', email: 'eve@example.com', password: 'secret-1' }
  for (const path of ['/auth/register', '/auth/login'])
    expect((await client.post(path, account)).headers.get('cache-control')).toBe('no-store')
})
