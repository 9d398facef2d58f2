import { once } from 'node:events'
import { Agent, type IncomingMessage, request as open } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { expectError } from './responses.ts'
import { openRawClient } from './raw-client.ts'
import { sendRaw, expectRawError } from './raw.ts'
import { forFile } from '../support/service.ts'
import { words } from '../support/words.ts'

const { web, ada, projectId, withToken, ask } = await forFile(openRawClient())

const json = { 'Content-Type': 'application/json' }

test('HEAD answers without a body and never fails', async () => {
  for (const path of ['/api/v1/projects', `/api/v1/projects/${projectId}`, '/api/docs', '/nowhere']) {
    const { status, head: told, body } = await ask('HEAD', path)
    const got = await ask('GET', path)
    expect([path, status, body]).toEqual([path, got.status, ''])
    const length = Buffer.byteLength(got.body)
    expect(told.toLowerCase()).toContain(`content-length: ${length}`)
  }
})

test('a path or query of any length is answered', async () => {
  for (const length of [2_000, 8_000]) {
    const long = 'a'.repeat(length)
    expectError(await ada.get(`/projects/${long}`), 404)
    expectError(await ada.get(`/tasks?cursor=${long}`), 400)
  }
  for (const path of ['/projects/', '/tasks?cursor='])
    expectError(await ada.get(path + 'a'.repeat(15_000)), 414)
  for (const length of [20_000, 200_000]) {
    const { status } = await ask('GET', `/api/v1/projects/${'a'.repeat(length)}`)
    expect([0, 404, 414, 431]).toContain(status)
  }
  expect((await ada.get('/projects')).status).toBe(200)
})

test('what no path looks like is refused', async () => {
  for (const part of words('% %zz %ff %c0%af %00 ..%2f..%2fetc \\ {} <> " | %u0000 %20')) {
    for (const path of [`/projects/${part}`, `/tasks/${part}/comments`])
      expectRawError(await ask('GET', `/api/v1${path}`), 404)
    expectRawError(await ask('DELETE', `/api/v1/projects/${projectId}/members/${part}`), 404)
  }
  for (const path of words('/../../etc/passwd // /api/v1/../../x /api/docs/assets/../../../package.json'))
    expectRawError(await ask('GET', path), 404)
})

test('what is not HTTP is cut off', async () => {
  for (const noise of ['\r\n\r\n', 'GET\r\n\r\n', '\x16\x03\x01\x02\0\x01\0', 'GET / HTTP/9.9\r\n\r\n']) {
    const { status } = await sendRaw(web.url, noise)
    expect([0, 400, 404, 505]).toContain(status)
  }
})

test('whatever a request calls its host, it is answered', async () => {
  for (const title of ['First', 'Second']) await make(ada, '/tasks', { projectId, title })
  const body = JSON.stringify({ name: 'Named so' })
  for (const Host of ['a:b', 'docket.test:99999', '[', 'undefined:undefined', 'ä', '%']) {
    const listed = await ask('GET', `/api/v1/tasks?projectId=${projectId}&limit=1`, { Host })
    expect([Host, listed.status]).toEqual([Host, 200])
    expect(listed.head).toMatch(/\r\nlink: <\/api\/v1\/tasks\?projectId=[^>]*&cursor=[^>]*>; rel="next"/i)
    const headers = {
      Host,
      ...json,
      'Content-Length': body.length,
      'Idempotency-Key': `at ${Bun.hash(Host)}`,
    }
    const made = await ask('POST', '/api/v1/projects', headers, body)
    const again = await ask('POST', '/api/v1/projects', headers, body)
    expect([Host, made.status, again.status, again.body]).toEqual([Host, 201, 201, made.body])
    expectRawError(await ask('PUT', '/api/v1/projects', { Host }), 405)
  }
})

test('a connection serves one request after another, refused ones among them', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const statuses: string[] = []
  for (const request of ['GET /auth/me', 'POST /projects', 'GET /no', 'GET /auth/me']) {
    const [method, path] = request.split(' ')
    const sent = open(`${web.url}/api/v1${path}`, { agent, method, headers: { ...withToken, ...json } })
    sent.end(method === 'POST' ? '{' : undefined)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    await answer.resume().toArray()
    statuses.push(`${answer.statusCode} ${sent.reusedSocket ? 'again' : 'first'}`)
  }
  agent.destroy()
  expect(statuses).toEqual(['200 first', '400 again', '404 again', '200 again'])
})

test('a large answer is compressed for who takes gzip, whole and in its own length', async () => {
  const task = await make(ada, '/tasks', { title: 'Long', projectId, description: 'wheel '.repeat(3_000) })
  const headers = { ...withToken, 'accept-encoding': 'gzip' }
  const init = { headers, decompress: false }
  const small = await fetch(`${web.url}/api/v1/tasks/${task.id}`, init)
  const bytes = Buffer.from(await small.bytes())
  expect(JSON.parse(gunzipSync(bytes).toString())).toEqual({ ...task })
  expect(small.headers.get('content-length')).toBe(String(bytes.length))
  const known = { ...headers, 'if-none-match': small.headers.get('etag')! }
  expect((await fetch(`${web.url}/api/v1/tasks/${task.id}`, { headers: known })).status).toBe(304)
})

test('what a path and a query name is read as it is by the app itself', async () => {
  const { body } = await ada.get(`/projects/${projectId.toUpperCase()}`)
  expect(body.id).toBe(projectId)
  expectError(await ada.get('/projects?limit=1&limit=2'), 400, 'limit is given more than once')
  const root = await ask('GET', '/api')
  expect([root.status, root.head]).toEqual([302, expect.stringMatching(/^location: \/api\/docs$/im)])
})
