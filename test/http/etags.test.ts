import { expectError, invite, make, nextPath, openProject, openTeam, type Person, register } from '../kit.ts'

const { client, people, owner, editor, viewer, stranger, countEvents } = await openTeam()
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
