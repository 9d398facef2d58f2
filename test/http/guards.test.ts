import { expect, test } from 'bun:test'
import { openWebProcess } from '../support/web-process.ts'
import { requestHead, sendRaw } from './raw.ts'

const { web, ada } = await openWebProcess({ BODY_TIMEOUT_MS: '300' })
const bearer = { Authorization: `Bearer ${ada.token}` }
const json = { ...bearer, 'Content-Type': 'application/json' }

test('every kind of response has X-Content-Type-Options: nosniff', async () => {
  const condition = { 'if-none-match': (await ada.get('/auth/me')).headers.get('etag')! }
  const responses = await Promise.all([
    ada.as().post('/auth/login', { email: 'a', password: 'b' }),
    ada.as().get('/auth/me'),
    ...[ada.get('/auth/me'), ada.get('/auth/me', condition), ada.get('/nowhere')],
    ...[ada.post('/projects', { name: 'P' }), ada.post('/projects', '{')],
    ...['docs', 'docs/json', 'docs/assets/swagger-ui.css'].map((path) => ada.get(`/../${path}`)),
    ...['live', 'ready'].map((path) => ada.get(`/../../health/${path}`)),
  ])
  const statuses = responses.map(({ status }) => status)
  expect(statuses).toEqual([401, 401, 200, 304, 404, 201, 400, 200, 200, 200, 200, 200])
  for (const { headers } of responses) expect(headers.get('x-content-type-options')).toBe('nosniff')
})

test.each([
  ['headers', 431, 'GET', '/projects', { ...bearer, 'X-Long': 'x'.repeat(20_000) }],
  ['a URL', 414, 'GET', `/tasks?cursor=${'x'.repeat(8_200)}`, bearer],
  ['a Content-Length', 413, 'POST', '/projects', { ...json, 'Content-Length': '9999999999' }],
])('rejects %s beyond the limit with %d', async (_, status, method, path, headers) => {
  expect((await sendRaw(web.url, requestHead(method, `/api/v1${path}`, headers))).status).toBe(status)
})

test('a body that does not arrive in time gets 408, and the connection is closed', async () => {
  const headers = { ...json, Connection: 'keep-alive', 'Content-Length': '100' }
  const head = requestHead('POST', '/api/v1/projects', headers)
  const message = 'The body must arrive within 300 ms'
  for (const part of ['', '{"name":', '{"name":"P"']) {
    const { status, body } = await sendRaw(web.url, head, part)
    expect(status).toBe(408)
    expect(JSON.parse(body)).toEqual({ statusCode: 408, message, error: 'Request Timeout' })
  }
})
