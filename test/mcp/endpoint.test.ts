import { openScene, withService, withToken } from '../kit.ts'
import { message, rawHeaders, type Sent, send } from './raw.ts'

const { service, ada } = await openScene(['Ada'])
const list = message('tools/list')
const ping = { body: { jsonrpc: '2.0', id: 1, method: 'ping' } }

test('both paths respond to messages of new and old protocol revisions', async () => {
  for (const path of ['/mcp', '/api/v1/mcp']) {
    const modern = await send(service, ada.token, { path, ...list })
    expect([modern.status, JSON.parse(modern.text).result.tools.length]).toEqual([200, 9])
    expect(await send(service, ada.token, { path, ...ping })).toMatchObject({
      status: 200,
      text: expect.stringContaining('"result":{}'),
    })
  }
})

test('other methods get 405, because there are no sessions', async () => {
  for (const path of ['/mcp', '/api/v1/mcp'])
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const { status, headers } = await service.fetch(path, {
        method,
        headers: { authorization: `Bearer ${ada.token}` },
      })
      expect([method, status, headers.get('allow')]).toEqual([method, 405, 'POST, OPTIONS'])
    }
})

test('a missing, invalid or expired token gets 401 with WWW-Authenticate', async () => {
  const short = await withToken(ada)
  expect((await send(service, short.token, list)).status).toBe(200)
  const sql = service.services.database.background
  await sql`update api_tokens set expires_at = now() where user_id = ${ada.id}`
  const until = Date.now() + 10_000
  while ((await send(service, short.token, list)).status === 200 && Date.now() < until) await Bun.sleep(50)
  for (const token of [undefined, 'x', `dkt_${'x'.repeat(40)}`, short.token]) {
    const { status, headers } = await send(service, token, list)
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="docket"'])
  }
})

test('a page of another origin gets 403 before its token is checked, also if Host equals its origin', async () => {
  const origins: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://evil.example', host: 'evil.example' },
    { origin: 'http://localhost:8080', host: 'localhost' },
    { origin: 'http://localhost.evil.example', host: 'localhost.evil.example' },
  ]
  for (const headers of origins)
    for (const token of [ada.token, undefined])
      expect([headers, (await send(service, token, { ...ping, headers })).status]).toEqual([headers, 403])
})

test('pages of the service itself, of PUBLIC_URL and of CORS_ORIGINS are allowed', async () => {
  const env = { CORS_ORIGINS: 'https://app.example', PUBLIC_URL: 'https://docket.example/' }
  await withService({ ...env, DATABASE_URL: service.env.DATABASE_URL! }, async (other) => {
    const origins: Record<string, string>[] = [
      { origin: 'https://app.example' },
      { origin: 'https://docket.example' },
      { origin: 'http://127.0.0.1:3000', host: '127.0.0.1:3000' },
      { origin: 'http://[::1]:3000', host: '[::1]:3000' },
      { origin: 'http://localhost', host: 'localhost' },
    ]
    for (const headers of origins)
      expect([headers, (await send(other, ada.token, { ...ping, headers })).status]).toEqual([headers, 200])
    const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
    const { headers } = await other.fetch('/mcp', { method: 'OPTIONS', headers: preflight })
    for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name'])
      expect(headers.get('access-control-allow-headers')!.toLowerCase()).toContain(name)
  })
})

const invalid: [title: string, sent: Sent, status: number, code?: number][] = [
  ['no JSON', { body: '{' }, 400, -32_700],
  ['an empty body', { body: '' }, 400, -32_700],
  ['too many levels', { body: '['.repeat(40) }, 400, -32_700],
  ['a number', { body: '1' }, 400, -32_600],
  ['an object that is no message', { body: {} }, 400, -32_600],
  ['a batch', { body: [ping.body, ping.body] }, 400, -32_600],
  [
    'a revision that does not exist',
    { ...ping, headers: { 'mcp-protocol-version': '1999-01-01' } },
    400,
    -32_000,
  ],
  ['a message without its envelope', { ...ping, headers: list.headers }, 400, -32_602],
  ['headers of another message', { body: list.body, headers: message('tools/call').headers }, 400, -32_020],
  ['an unknown method', message('tools/lists'), 404, -32_601],
  [
    'a subscription',
    message('subscriptions/listen', { notifications: { toolsListChanged: true } }),
    200,
    -32_603,
  ],
  ['one content type only', { ...ping, headers: { accept: 'application/json' } }, 406, -32_000],
  ['another content type', { ...ping, headers: { ...rawHeaders, 'content-type': 'text/plain' } }, 415],
  ['a large body', { body: { ...ping.body, params: { x: 'x'.repeat(1_100_000) } } }, 413],
]

for (const [title, sent, status, code] of invalid)
  test(`${title} gets ${status}`, async () => {
    const { text, ...answer } = await send(service, ada.token, sent)
    expect([answer.status, code && JSON.parse(text).error.code]).toEqual([status, code])
    expect(answer.headers.get('x-request-id')).toBeTruthy()
  })

test('a notification gets 202 without a body', async () => {
  const body = { jsonrpc: '2.0', method: 'notifications/initialized' }
  expect(await send(service, ada.token, { body })).toMatchObject({ status: 202, text: '' })
})

test('every response has Cache-Control: no-store', async () => {
  for (const sent of [list, ping]) {
    const { headers } = await send(service, ada.token, sent)
    expect(headers.get('cache-control')).toBe('no-store')
  }
})
