import { gunzipSync } from 'node:zlib'
import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'

const description = 'Grüße, 漢字 😀 '.repeat(900)
const { service, ada } = await openScene(['Ada'])
const { id: projectId } = await make(ada, '/projects', { name: 'P', description })
const { id } = await make(ada, '/tasks', { title: 'T', projectId, description })
await make(ada, `/tasks/${id}/comments`, { text: description })
const taskPath = `/tasks/${id}`

const large: string[] = [
  ...[taskPath, `${taskPath}/comments`, `/tasks?projectId=${projectId}`, '/tasks'],
  ...[`/projects/${projectId}`, '/projects'],
]

async function ask(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const all = { authorization: `Bearer ${ada.token}`, ...headers }
  const answer = await service.fetch(`/api/v1${path}`, { method, headers: all })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.bytes()) }
}
const gzip = { 'accept-encoding': 'gzip, deflate, br' }

test('a large answer is compressed for who takes gzip, and the same otherwise', async () => {
  for (const path of large) {
    const plain = await ask(path)
    expect([path, plain.headers.get('content-encoding')]).toEqual([path, null])
    for (const _ of ['made', 'kept']) {
      const small = await ask(path, gzip)
      expect([path, small.status, small.headers.get('content-encoding')]).toEqual([path, 200, 'gzip'])
      expect(gunzipSync(small.bytes).equals(plain.bytes)).toBeTrue()
      expect(small.bytes.length).toBeLessThan(plain.bytes.length / 5)
      for (const { headers } of [plain, small])
        expect(headers.get('vary')).toBe('Authorization, Accept-Encoding')
      for (const name of ['content-type', 'link', 'cache-control', 'x-content-type-options'])
        expect(small.headers.get(name)).toBe(plain.headers.get(name))
    }
  }
})

test('only who takes gzip gets it', async () => {
  const takes = [
    'gzip',
    'GZIP',
    'x-gzip',
    'br, gzip',
    'gzip;q=0.1',
    'deflate,gzip ; q=1.0,*;q=0',
    'gzip;q=1, br',
  ]
  const not = [
    '',
    'identity',
    'br',
    'gzip;q=0',
    'gzip;q=0.000, br',
    'gzipped',
    'x, y',
    '*',
    ';',
    'q=1',
    'gzip;q=x',
  ]
  for (const codings of [...takes, ...not]) {
    const { headers } = await ask(taskPath, { 'accept-encoding': codings })
    expect([codings, headers.get('content-encoding') === 'gzip']).toEqual([codings, takes.includes(codings)])
  }
})

test('a small answer and a refusal are sent as they are', async () => {
  for (const path of ['/auth/me', `${taskPath}/subtasks`, '/tasks/none', '/tasks?limit=0']) {
    const { headers } = await ask(path, gzip)
    expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([null, 'Authorization'])
  }
})

test('each form has an ETag of its own, and either is known again', async () => {
  for (const path of large.filter((one) => one !== '/tasks')) {
    const [plain, small] = [await ask(path), await ask(path, gzip)].map(({ headers }) => headers.get('etag')!)
    expect(small).not.toBe(plain!)
    for (const tag of [plain!, small!, `W/${small}`, `"x", ${small}`])
      for (const codings of [gzip, {}]) {
        const { status, headers, bytes } = await ask(path, { ...codings, 'if-none-match': tag })
        expect([path, tag, status, bytes.length]).toEqual([path, tag, 304, 0])
        expect(tag).toContain(headers.get('etag')!)
        if (tag !== plain) expect(headers.get('vary')).toContain('Accept-Encoding')
      }
    const other = { ...gzip, 'if-none-match': small!.replace('-gzip', '-br') }
    expect((await ask(path, other)).status).toBe(200)
  }
})

test('what was read compressed can be changed on the condition that it has not changed', async () => {
  const tag = (await ask(taskPath, gzip)).headers.get('etag')!
  expect((await ada.patch(taskPath, { title: 'U' }, { 'if-match': tag })).status).toBe(200)
  expect((await ada.patch(taskPath, { title: 'V' }, { 'if-match': tag })).status).toBe(412)
  const now = await ask(taskPath, { ...gzip, 'if-none-match': tag })
  expect([now.status, JSON.parse(gunzipSync(now.bytes).toString()).title]).toEqual([200, 'U'])
})

test('HEAD says what GET would', async () => {
  for (const codings of [gzip, {}]) {
    const [got, head] = [await ask(taskPath, codings), await ask(taskPath, codings, 'HEAD')]
    expect([head.status, head.bytes.length]).toEqual([200, 0])
    for (const name of ['etag', 'content-encoding', 'vary'])
      expect(head.headers.get(name)).toBe(got.headers.get(name))
    expect(head.headers.get('content-length')).toBe(String(got.bytes.length))
  }
})
