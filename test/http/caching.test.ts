import { gunzipSync } from 'node:zlib'
import { expectError, make, nextPath, openProject, openTeam, words } from '../kit.ts'
import type { Client } from '../kit.ts'

const { service, client, people, owner, editor, viewer, stranger, countEvents } = await openTeam()
const projectId = await openProject(people)
const description = 'Grüße, 漢字 😀 '.repeat(900)
await make(owner, '/projects', { name: 'A project without members', description })
for (const assigneeId of [owner.id, editor.id, owner.id, editor.id])
  await make(owner, '/tasks', { title: 'Wheels', projectId, assigneeId, dueDate: '2030-01-01' })
const taskId = (await make(owner, '/tasks', { title: 'Talk', projectId, description })).id
await make(owner, `/tasks/${taskId}/subtasks`, { title: 'Oil' })
await make(editor, `/tasks/${taskId}/comments`, { text: description })
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

const tagOf = async (path: string) => (await viewer.get(path)).headers.get('etag')!
const revalidate = (path: string, tag: string, reader: Client = viewer) =>
  reader.get(path, { 'if-none-match': tag })

test('a matching If-None-Match gets 304 without a body, but a stranger gets 404 and a caller without a token 401', async () => {
  for (const path of Object.values(paths)) {
    const tag = await tagOf(path)
    expect(tag).toMatch(/^"[^"]+"$/)
    expect((await revalidate(path, `W/${tag.slice(0, -1)}-br"`)).status).toBe(304)
    for (const matching of [tag, `W/${tag}`, `"other", ${tag}`, '*', `W/"x",W/${tag}`]) {
      const { status, text, headers } = await revalidate(path, matching)
      expect([status, text, headers.get('etag')]).toEqual([304, '', tag])
      expect(Number(headers.get('docket-version'))).toBeGreaterThan(8)
    }
    for (const other of ['"other"', tag.slice(1, -1), '""', 'garbage, "'])
      expect((await revalidate(path, other)).status).toBe(200)
    for (const one of [tag, '*']) {
      expectError(await revalidate(path, one, stranger), 404)
      expectError(await revalidate(path, one, client), 401)
    }
  }
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
  const dependsOnCaller = (path: string) => /auth|me\b|\/projects(\?|$)/.test(path)
  expect(differing).toEqual(reads.filter(dependsOnCaller))
})

test('reads have Cache-Control: private, no-cache; responses that contain a token have no-store', async () => {
  for (const path of reads) {
    // Accept selects the representation of events: JSON or a stream.
    const vary = path.includes('/events') ? 'Authorization, Accept' : 'Authorization'
    const response = await owner.get(path)
    const second = await revalidate(path, response.headers.get('etag') ?? '"none"', owner)
    expect([path, second.status]).toEqual([path, response.headers.has('etag') ? 304 : 200])
    const unauthorized = await client.get(path)
    const invalid = await owner.get(path.replace(/\?.*|$/, '?unknown=1'))
    for (const { headers } of [response, second, unauthorized, invalid]) {
      const found = [headers.get('cache-control'), headers.get('vary')?.replace(', Accept-Encoding', '')]
      expect([path, found]).toEqual([path, ['private, no-cache', vary]])
    }
  }
  const account = { name: 'Eve', email: 'eve@example.com', password: 'secret-1' }
  for (const path of ['/auth/register', '/auth/login'])
    expect((await client.post(path, account)).headers.get('cache-control')).toBe('no-store')
})

async function read(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const init = { method, headers: { authorization: `Bearer ${owner.token}`, ...headers } }
  const response = await service.fetch(`/api/v1${path}`, init)
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.bytes()) }
}
const gzip = { 'accept-encoding': 'gzip, deflate, br' }

test('a large response is compressed for a client that accepts gzip, and each form has its own ETag', async () => {
  for (const path of [...words('/projects /tasks'), paths.task, paths.tasks, paths.comments]) {
    const [plain, compressed, cached] = [await read(path), await read(path, gzip), await read(path, gzip)]
    const encodings = [plain, compressed, cached].map(({ headers }) => headers.get('content-encoding'))
    expect([path, encodings]).toEqual([path, [null, 'gzip', 'gzip']])
    for (const one of [compressed, cached]) {
      expect(gunzipSync(one.bytes).equals(plain.bytes)).toBeTrue()
      expect(one.bytes.length).toBeLessThan(plain.bytes.length / 2)
      for (const name of words('vary content-type link cache-control x-content-type-options'))
        expect(one.headers.get(name)).toBe(plain.headers.get(name))
    }
    expect(plain.headers.get('vary')).toBe('Authorization, Accept-Encoding')
    if (path === '/tasks') continue
    const [tag, gzipTag] = [plain, compressed].map(({ headers }) => headers.get('etag')!) as [string, string]
    expect(gzipTag).not.toBe(tag)
    for (const one of [tag, gzipTag, `W/${gzipTag}`, `"x", ${gzipTag}`])
      for (const codings of [gzip, {}]) {
        const { status, headers, bytes } = await read(path, { ...codings, 'if-none-match': one })
        expect([path, one, status, bytes.length]).toEqual([path, one, 304, 0])
        expect(one).toContain(headers.get('etag')!)
        if (one !== tag) expect(headers.get('vary')).toContain('Accept-Encoding')
      }
    const otherTag = gzipTag.replace('-gzip', '-other')
    expect((await read(path, { ...gzip, 'if-none-match': otherTag })).status).toBe(200)
  }
})

test.each([
  ['gzip', 'gzip|GZIP|x-gzip|br, gzip|gzip;q=0.1|deflate,gzip ; q=1.0,*;q=0|gzip;q=1, br'],
  [null, '|identity|br|gzip;q=0|gzip;q=0.000, br|gzipped|x, y|*|;|q=1|gzip;q=x'],
])('Content-Encoding is %p for Accept-Encoding %p', async (encoding, accepted) => {
  for (const codings of accepted.split('|')) {
    const { headers } = await read(paths.task, { 'accept-encoding': codings })
    expect([codings, headers.get('content-encoding')]).toEqual([codings, encoding])
  }
})

test('a small response and an error are not compressed', async () => {
  for (const path of ['/auth/me', paths.subtasks, '/tasks/none', '/tasks?limit=0']) {
    const { headers } = await read(path, gzip)
    expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([null, 'Authorization'])
  }
})

test('If-Match accepts the ETag of a compressed response, and HEAD returns the headers of each form', async () => {
  for (const codings of [gzip, {}]) {
    const [got, head] = [await read(paths.task, codings), await read(paths.task, codings, 'HEAD')]
    expect([head.status, head.bytes.length]).toEqual([200, 0])
    for (const name of words('etag content-encoding vary'))
      expect(head.headers.get(name)).toBe(got.headers.get(name))
    expect(head.headers.get('content-length')).toBe(String(got.bytes.length))
  }
  const tag = (await read(paths.task, gzip)).headers.get('etag')!
  const rename = (title: string, sent: string) => owner.patch(paths.task, { title }, { 'if-match': sent })
  expect((await rename('U', `W/${tag}`)).status).toBe(200)
  for (const sent of [tag, `W/${tag}`]) expect((await rename('V', sent)).status).toBe(412)
  const changed = await read(paths.task, { ...gzip, 'if-none-match': tag })
  expect([changed.status, JSON.parse(gunzipSync(changed.bytes).toString()).title]).toEqual([200, 'U'])
})
