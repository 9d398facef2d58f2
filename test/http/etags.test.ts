import { expect, test } from 'bun:test'
import { invite, make, type Person, register } from '../support/client.ts'
import { openTestService } from '../support/service.ts'
import { countEvents, expectError } from './responses.ts'
import { openProject, openTeam } from './scene.ts'
import { nextPath } from './list-pages.ts'

const { service, client, people, owner, editor, viewer, stranger } = await openTeam()
const projectId = await openProject(people)
await make(owner, '/projects', { name: "The owner's own" })
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
const mine = `${paths.tasks}&assigneeId=me`
/** Everything that can be read; the owner and the editor may read all of it. */
const reads: string[] = [
  ...[
    '/auth/me',
    '/projects',
    '/projects?limit=1',
    ...Object.values(paths),
    `${paths.project}/events?limit=3`,
  ],
  ...['/tasks', '/tasks?assigneeId=me', mine, `${mine}&status=TODO`, `${mine}&sort=-dueDate`],
  ...[`${mine}&dueAfter=2029-01-01`, nextPath((await owner.get(`${mine}&limit=1`)).headers)!],
]

const tagOf = async (path: string, who: Person = viewer) => (await who.get(path)).headers.get('etag')!
const ask = (path: string, tag: string, who: Person = viewer) => who.get(path, { 'if-none-match': tag })

test('a caller who has it is answered 304 without a body', async () => {
  for (const path of Object.values(paths)) {
    const tag = await tagOf(path)
    expect(tag).toMatch(/^"[^"]+"$/)
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const { status, text, headers } = await ask(path, known)
      expect([status, text, headers.get('etag')]).toEqual([304, '', tag])
      expect(headers.get('x-request-id')).toBeTruthy()
    }
    for (const unknown of ['"other"', tag.slice(1, -1), '""', 'garbage, "'])
      expect((await ask(path, unknown)).status).toBe(200)
  }
})

test('who may not see it is refused, whatever tag they bring', async () => {
  for (const path of Object.values(paths))
    for (const tag of [await tagOf(path), '*']) {
      expectError(await ask(path, tag, stranger), 404)
      expectError(await viewer.as().get(path, { 'if-none-match': tag }), 401)
    }
})

test('a created or changed resource carries the tag that reading it does', async () => {
  const created = await owner.post('/tasks', { title: 'T', projectId })
  const path = `/tasks/${created.body.id}`
  expect(await tagOf(path)).toBe(created.headers.get('etag')!)
  const changed = await owner.patch(path, { title: 'U' })
  expect(changed.headers.get('etag')).not.toBe(created.headers.get('etag'))
  expect(await tagOf(path)).toBe(changed.headers.get('etag')!)
})

test("a single resource's tag changes with it and with nothing else", async () => {
  const before = await tagOf(paths.task)
  await owner.patch(paths.project, { description: 'Changed' })
  await owner.patch(`/tasks/subtasks/${subtaskId}/toggle`)
  expect((await ask(paths.task, before)).status).toBe(304)
  await owner.patch(paths.task, { status: 'DONE' })
  const after = await ask(paths.task, before)
  expect([after.status, after.body.status]).toEqual([200, 'DONE'])
})

test('a list is answered anew after every change, at once', async () => {
  const changes: [list: keyof typeof paths, change: () => Promise<unknown>][] = [
    ['tasks', () => owner.patch(paths.task, { priority: 'HIGH' })],
    ['subtasks', () => owner.patch(`/tasks/subtasks/${subtaskId}/toggle`)],
    ['comments', () => make(owner, paths.comments, { text: 'New' })],
    ['members', async () => invite(owner, projectId, await register(client))],
  ]
  for (const [list, change] of changes) {
    const before = await viewer.get(paths[list])
    await change()
    const after = await ask(paths[list], before.headers.get('etag')!)
    expect([list, after.status, after.text === before.text]).toEqual([list, 200, false])
  }
})

test('two projects at the same version do not pass for one another when a task moves', async () => {
  const other = await openProject(people, 'Other')
  const { id } = await make(owner, '/tasks', { title: 'T', projectId })
  const path = `/tasks/${id}/subtasks`
  const ahead = async () => (await countEvents(service, projectId)) - (await countEvents(service, other))
  // The move and the new subtask will bring the other project to the version this one has now.
  for (let by = await ahead(); by !== 2; by = await ahead())
    await make(owner, '/tasks', { title: 'Filler', projectId: by < 2 ? projectId : other })
  const before = await tagOf(path)
  await owner.patch(`/tasks/${id}`, { projectId: other })
  await make(owner, path, { title: 'S' })
  const after = await ask(path, before)
  expect([after.status, after.body?.length]).toEqual([200, 1])
})

test('the ETag of one caller never hides from another what they would see', async () => {
  const differing: string[] = []
  for (const path of reads) {
    const [one, other] = [await owner.get(path), await editor.get(path)]
    expect([path, one.status, other.status]).toEqual([path, 200, 200])
    const [tag, otherTag] = [one, other].map(({ headers }) => headers.get('etag') ?? '"none"')
    if (tag !== otherTag) differing.push(path)
    if (one.text === other.text) continue
    for (const [who, theirs, own] of [
      [editor, tag, other],
      [owner, otherTag, one],
    ] as const) {
      const answer = await ask(path, theirs!, who)
      expect([path, answer.status, answer.text]).toEqual([path, 200, own.text])
    }
  }
  const isOwn = (path: string) => /auth|me\b|\/projects(\?|$)/.test(path) && path !== '/tasks?assigneeId=me'
  expect(differing).toEqual(reads.filter(isOwn))
})

const kept = { 'cache-control': 'private, no-cache', vary: 'Authorization' }
const headersOf = ({ headers }: { headers: Headers }) =>
  Object.fromEntries(Object.keys(kept).map((name) => [name, headers.get(name)]))

test('every read says that it is for its caller alone and to be asked for again, and no cache keeps a token', async () => {
  for (const path of reads) {
    // Events come as a stream too, to who asks for that.
    const wanted = path.includes('/events') ? { ...kept, vary: 'Authorization, Accept' } : kept
    const answer = await owner.get(path)
    const again = await ask(path, answer.headers.get('etag') ?? '"none"', owner)
    expect([path, again.status]).toEqual([path, answer.headers.has('etag') ? 304 : 200])
    const nobody = await owner.as().get(path)
    for (const one of [answer, again, nobody, await owner.get(path.replace(/\?.*|$/, '?unknown=1'))])
      expect([path, headersOf(one)]).toEqual([path, wanted])
  }
  expect(headersOf(await owner.get('/projects/none'))).toEqual(kept)
  const account = { name: 'Eve', email: 'eve@example.com', password: 'secret-1' }
  for (const path of ['/auth/register', '/auth/login'])
    expect((await client.post(path, account)).headers.get('cache-control')).toBe('no-store')
})

const origin = 'https://app.example.com'
const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
const corsOf = ({ headers }: { headers: Headers }) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'))

test('pages of other origins are kept out unless told otherwise', async () => {
  for (const headers of [{ origin }, { origin, ...asked }])
    for (const method of ['GET', 'OPTIONS'])
      expect(corsOf(await client.call(method, '/projects', undefined, headers))).toEqual([])
})

test('pages of other origins are let in when they are named, also to read refusals', async () => {
  await using open = await openTestService({ CORS_ORIGINS: `${origin}, http://localhost:5173` })
  const someone = await register(open.client)
  const preflight = await open.client.call('OPTIONS', '/tasks', undefined, { origin, ...asked })
  expect([preflight.status, preflight.text]).toEqual([204, ''])
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
    'access-control-allow-headers': expect.stringContaining('Idempotency-Key'),
  })
  const plain = await someone.get('/auth/me')
  const answers = [
    await someone.get('/auth/me', { origin }),
    await someone.get('/projects/none', { origin }),
    await someone.post('/tasks', '{', { origin }),
    await open.client.get('/auth/me', { origin }),
    await someone.get('/auth/me', { 'if-none-match': plain.headers.get('etag')! }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 400, 401, 304])
  for (const { headers } of answers) expect(headers.get('vary')).toBe('Authorization, Origin')
  for (const { headers } of answers.slice(0, 4)) {
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-expose-headers')).toContain('ETag')
    expect(headers.get('content-type')).toStartWith('application/json')
  }
  expect((await open.client.get('/../../health/live')).headers.get('vary')).toBe('Origin')
  expect([answers[0]!.text, answers[0]!.headers.get('etag')]).toEqual([plain.text, plain.headers.get('etag')])
  for (const other of ['https://evil.example.com', 'https://app.example.com.evil.com', 'null'])
    expect(corsOf(await someone.get('/auth/me', { origin: other }))).toEqual([])
})

test('pages of other origins are all let in by a star, without credentials', async () => {
  await using open = await openTestService({ CORS_ORIGINS: '*' })
  const { headers } = await open.client.get('/auth/me', { origin: 'https://any.example.com' })
  expect(headers.get('access-control-allow-origin')).toBe('*')
  expect(headers.get('access-control-allow-credentials')).toBeNull()
})
