import { gunzipSync } from 'node:zlib'
import { make, openScene } from '../kit.ts'

const description = 'Grüße, 漢字 😀 '.repeat(900)
const { service, ada } = await openScene(['Ada'])
const { id: projectId } = await make(ada, '/projects', { name: 'P', description })
const { id } = await make(ada, '/tasks', { title: 'T', projectId, description })
await make(ada, `/tasks/${id}/comments`, { text: description })
const taskPath = `/tasks/${id}`

const oneProject = [
  taskPath,
  `${taskPath}/comments`,
  `/tasks?projectId=${projectId}`,
  `/projects/${projectId}`,
]
const largePaths = [...oneProject, '/projects', '/tasks']

async function read(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const init = { method, headers: { authorization: `Bearer ${ada.token}`, ...headers } }
  const response = await service.fetch(`/api/v1${path}`, init)
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.bytes()) }
}
const gzip = { 'accept-encoding': 'gzip, deflate, br' }

test('a large response is compressed for a client that accepts gzip, and equals the uncompressed response', async () => {
  for (const path of largePaths) {
    const plain = await read(path)
    expect([path, plain.headers.get('content-encoding')]).toEqual([path, null])
    for (const _ of ['compressed', 'from the cache']) {
      const compressed = await read(path, gzip)
      expect([path, compressed.status]).toEqual([path, 200])
      expect(compressed.headers.get('content-encoding')).toBe('gzip')
      expect(gunzipSync(compressed.bytes).equals(plain.bytes)).toBeTrue()
      expect(compressed.bytes.length).toBeLessThan(plain.bytes.length / 5)
      for (const { headers } of [plain, compressed])
        expect(headers.get('vary')).toBe('Authorization, Accept-Encoding')
      for (const name of ['content-type', 'link', 'cache-control', 'x-content-type-options'])
        expect(compressed.headers.get(name)).toBe(plain.headers.get(name))
    }
  }
})

test.each([
  ['gzip', 'gzip|GZIP|x-gzip|br, gzip|gzip;q=0.1|deflate,gzip ; q=1.0,*;q=0|gzip;q=1, br'],
  [null, '|identity|br|gzip;q=0|gzip;q=0.000, br|gzipped|x, y|*|;|q=1|gzip;q=x'],
])('Content-Encoding is %p for Accept-Encoding %p', async (encoding, accepted) => {
  for (const codings of accepted.split('|')) {
    const { headers } = await read(taskPath, { 'accept-encoding': codings })
    expect([codings, headers.get('content-encoding')]).toEqual([codings, encoding])
  }
})

test('a small response and an error are not compressed', async () => {
  for (const path of ['/auth/me', `${taskPath}/subtasks`, '/tasks/none', '/tasks?limit=0']) {
    const { headers } = await read(path, gzip)
    expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([null, 'Authorization'])
  }
})

test('compressed and uncompressed responses have different ETags, and each ETag gets 304', async () => {
  for (const path of largePaths.slice(0, -1)) {
    const [plain, compressed] = [await read(path), await read(path, gzip)].map(({ headers }) =>
      headers.get('etag')!,
    )
    expect(compressed).not.toBe(plain!)
    for (const tag of [plain!, compressed!, `W/${compressed}`, `"x", ${compressed}`])
      for (const codings of [gzip, {}]) {
        const { status, headers, bytes } = await read(path, { ...codings, 'if-none-match': tag })
        expect([path, tag, status, bytes.length]).toEqual([path, tag, 304, 0])
        expect(tag).toContain(headers.get('etag')!)
        if (tag !== plain) expect(headers.get('vary')).toContain('Accept-Encoding')
      }
    const otherTag = compressed!.replace('-gzip', '-other')
    expect((await read(path, { ...gzip, 'if-none-match': otherTag })).status).toBe(200)
  }
})

test('If-Match accepts the ETag of a compressed response', async () => {
  const tag = (await read(taskPath, gzip)).headers.get('etag')!
  for (const status of [200, 412])
    for (const sent of status === 200 ? [`W/${tag}`] : [tag, `W/${tag}`])
      expect((await ada.patch(taskPath, { title: `U${status}` }, { 'if-match': sent })).status).toBe(status)
  const changed = await read(taskPath, { ...gzip, 'if-none-match': tag })
  expect([changed.status, JSON.parse(gunzipSync(changed.bytes).toString()).title]).toEqual([200, 'U200'])
})

test('HEAD returns the headers of GET, with and without compression', async () => {
  for (const codings of [gzip, {}]) {
    const [got, head] = [await read(taskPath, codings), await read(taskPath, codings, 'HEAD')]
    expect([head.status, head.bytes.length]).toEqual([200, 0])
    for (const name of ['etag', 'content-encoding', 'vary'])
      expect(head.headers.get(name)).toBe(got.headers.get(name))
    expect(head.headers.get('content-length')).toBe(String(got.bytes.length))
  }
})
