import { connect } from 'node:net'
import { describe, expect, test } from 'bun:test'
import { openWebProcess } from '../support/web-process.ts'
import { expectError } from './responses.ts'
import { sendRaw, requestHead } from './raw.ts'
import { forFile } from '../support/service.ts'

const { web, ada } = await forFile(openWebProcess({ BODY_TIMEOUT_MS: '300' }))
const nobody = ada.as()

const bearer = () => ({ Authorization: `Bearer ${ada.token}` })
const json = { 'Content-Type': 'application/json' }
describe('headers', () => {
  test('keep browsers from guessing types, on every kind of answer', async () => {
    const known = { 'if-none-match': (await ada.get('/auth/me')).headers.get('etag')! }
    const answers = await Promise.all([
      nobody.post('/auth/login', { email: 'a', password: 'b' }),
      nobody.get('/auth/me'),
      ...[ada.get('/auth/me'), ada.get('/auth/me', known), ada.get('/nowhere')],
      ...[ada.post('/projects', { name: 'P' }), ada.post('/projects', '{')],
      ...['docs', 'docs/json', 'docs/assets/swagger-ui.css'].map((path) => ada.get(`/../${path}`)),
      ...['live', 'ready'].map((path) => ada.get(`/../../health/${path}`)),
    ])
    const statuses = answers.map(({ status }) => status)
    expect(statuses).toEqual([401, 401, 200, 304, 404, 201, 400, 200, 200, 200, 200, 200])
    for (const one of answers) expect(one.headers.get('x-content-type-options')).toBe('nosniff')
  })
})

describe('what comes in', () => {
  test('is bounded: headers, URL, body and its depth', async () => {
    const raw = (path: string, headers: Record<string, string>, method = 'GET') =>
      sendRaw(web.url, requestHead(method, `/api/v1${path}`, { ...bearer(), ...headers }))
    expect((await raw('/projects', { 'X-Long': 'x'.repeat(20_000) })).status).toBe(431)
    expect((await raw(`/tasks?cursor=${'x'.repeat(8_200)}`, {})).status).toBe(414)
    expect((await raw('/projects', { ...json, 'Content-Length': '9999999999' }, 'POST')).status).toBe(413)
    const nested = `{"name":"P","x":${'['.repeat(499_999)}${']'.repeat(499_999)}}`
    expectError(await ada.post('/projects', nested), 400, /nested deeper than 32 levels/)
  })

  test('is waited for only so long: a body that does not come gets 408 and the connection is closed', async () => {
    const headers = { ...bearer(), ...json, Connection: 'keep-alive', 'Content-Length': '100' }
    const start = requestHead('POST', '/api/v1/projects', headers)
    const begun = ['', '{"name":', '{"name":"P"'].map((part) => sendRaw(web.url, start, part))
    const message = 'The body must arrive within 300 ms'
    for (const { status, body } of await Promise.all(begun)) {
      expect(status).toBe(408)
      expect(JSON.parse(body)).toEqual({ statusCode: 408, message, error: 'Request Timeout' })
    }
  })

  test('may come in pieces as long as it comes', async () => {
    const body = JSON.stringify({ name: 'In pieces' })
    const headers = { ...bearer(), ...json, 'Content-Length': String(body.length) }
    const request = requestHead('POST', '/api/v1/projects', headers) + body
    const socket = connect(Number(new URL(web.url).port), '127.0.0.1')
    const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
    for (let at = 0; at < request.length; at += 50) {
      socket.write(request.slice(at, at + 50))
      await Bun.sleep(1)
    }
    expect(await answer).toStartWith('HTTP/1.1 201')
    socket.destroy()
  })
})
