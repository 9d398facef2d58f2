import { make, openScene, type TestService, withService, withToken } from '../kit.ts'

/** The headers of a message of a revision before 2026-07-28. */
const rawHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

const revision = '2026-07-28'
const meta = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Returns a message of the revision 2026-07-28 with the headers that the revision requires. */
function message(method: string, params: { name?: string; [key: string]: unknown } = {}) {
  const ofTool = params.name !== undefined && { 'mcp-name': params.name }
  const headers = { ...rawHeaders, 'mcp-protocol-version': revision, 'mcp-method': method, ...ofTool }
  return { headers, body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } } }
}

interface Sent {
  path?: string
  headers?: Record<string, string>
  body: unknown
  signal?: AbortSignal
}

/** Sends a body, which may be an invalid message. */
async function send(service: TestService, token: string | undefined, { path = '/mcp', body, ...sent }: Sent) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const length = { 'content-length': String(Buffer.byteLength(text)) }
  const response = await service.fetch(path, {
    ...{ method: 'POST', signal: sent.signal, body: text },
    headers: {
      ...{ ...rawHeaders, ...length },
      ...(token && { authorization: `Bearer ${token}` }),
      ...sent.headers,
    },
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const { service, ada, eve } = await openScene(['Ada', 'Eve'], { SUBSCRIBERS_PER_ACCOUNT: '100' })
const project = await make(ada, '/projects', { name: 'Engine' })
const ofEve = await make(eve, '/projects', { name: 'Flood' })
const list = message('tools/list')
const ping = { body: { jsonrpc: '2.0', id: 1, method: 'ping' } }

test('both paths respond to messages of new and old protocol revisions, with Cache-Control: no-store', async () => {
  for (const path of ['/mcp', '/api/v1/mcp']) {
    const modern = await send(service, ada.token, { path, ...list })
    expect([modern.status, JSON.parse(modern.text).result.tools.length]).toEqual([200, 9])
    const old = await send(service, ada.token, { path, ...ping })
    expect([old.status, old.text]).toEqual([200, expect.stringContaining('"result":{}')])
    for (const { headers } of [modern, old]) expect(headers.get('cache-control')).toBe('no-store')
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const init = { method, headers: { authorization: `Bearer ${ada.token}` } }
      const { status, headers } = await service.fetch(path, init)
      expect([method, status, headers.get('allow')]).toEqual([method, 405, 'POST, OPTIONS'])
    }
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

test('pages of the service itself, of PUBLIC_URL and of CORS_ORIGINS are allowed; another origin gets 403 before its token is checked', async () => {
  const env = { CORS_ORIGINS: 'https://app.example', PUBLIC_URL: 'https://docket.example/' }
  await withService({ ...env, DATABASE_URL: service.env.DATABASE_URL! }, async (other) => {
    for (const [origin, host, status] of [
      ['https://app.example', undefined, 200],
      ['https://docket.example', undefined, 200],
      ['http://127.0.0.1:3000', '127.0.0.1:3000', 200],
      ['http://[::1]:3000', '[::1]:3000', 200],
      ['http://localhost', 'localhost', 200],
      ['https://evil.example', undefined, 403],
      ['null', undefined, 403],
      ['http://evil.example', 'evil.example', 403],
      ['http://localhost:8080', 'localhost', 403],
      ['http://localhost.evil.example', 'localhost.evil.example', 403],
    ] as const)
      for (const token of status === 403 ? [ada.token, undefined] : [ada.token]) {
        const headers = { origin, ...(host && { host }) }
        expect([origin, (await send(other, token, { ...ping, headers })).status]).toEqual([origin, status])
      }
    const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
    const { headers } = await other.fetch('/mcp', { method: 'OPTIONS', headers: preflight })
    for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name'])
      expect(headers.get('access-control-allow-headers')!.toLowerCase()).toContain(name)
  })
})

const withHeaders = (headers: Record<string, string>): Sent => ({ ...ping, headers })
const subscription = message('subscriptions/listen', { notifications: { toolsListChanged: true } })
test.each<[title: string, sent: Sent, status: number, code: number | undefined]>([
  ['no JSON', { body: '{' }, 400, -32_700],
  ['an empty body', { body: '' }, 400, -32_700],
  ['too many levels', { body: '['.repeat(40) }, 400, -32_700],
  ['a number', { body: '1' }, 400, -32_600],
  ['an object that is no message', { body: {} }, 400, -32_600],
  ['a batch', { body: [ping.body, ping.body] }, 400, -32_600],
  ['an unknown revision', withHeaders({ 'mcp-protocol-version': '1999-01-01' }), 400, -32_000],
  ['a message without its envelope', withHeaders(list.headers), 400, -32_602],
  ['headers of another message', { body: list.body, headers: message('tools/call').headers }, 400, -32_020],
  ['an unknown method', message('tools/lists'), 404, -32_601],
  ['a subscription', subscription, 200, -32_603],
  ['one content type only', withHeaders({ accept: 'application/json' }), 406, -32_000],
  ['another content type', withHeaders({ ...rawHeaders, 'content-type': 'text/plain' }), 415, undefined],
  ['a large body', { body: { ...ping.body, params: { x: 'x'.repeat(1_100_000) } } }, 413, undefined],
  ['a notification', { body: { jsonrpc: '2.0', method: 'notifications/initialized' } }, 202, undefined],
])('%s', async (_, sent, status, code) => {
  const { text, ...answer } = await send(service, eve.token, sent)
  expect([answer.status, code && JSON.parse(text).error.code]).toEqual([status, code])
  expect(answer.headers.get('x-request-id')).toBeTruthy()
  if (status === 202) expect(text).toBe('')
})

/** A call of `changes` that waits for an event which does not exist yet. */
const waitFor = (after: number, seconds = 25, over: object = {}) =>
  message('tools/call', { name: 'changes', arguments: { project: ofEve.id, after, wait: seconds }, ...over })

test('calls that wait do not block other requests of the account, and are limited like subscribers', async () => {
  const waits = Array.from({ length: 101 }, () => send(service, eve.token, waitFor(1)))
  const rejected = JSON.parse((await Promise.race(waits)).text).result
  expect([rejected.isError, rejected.content[0].text]).toEqual([
    true,
    expect.stringContaining('"status":429'),
  ])
  await make(ada, '/tasks', { projectId: project.id, title: 'Oil' })
  await make(eve, '/tasks', { projectId: ofEve.id, title: 'Wake' })
  const texts = (await Promise.all(waits)).map(({ text }) => text)
  expect(texts.filter((text) => text.includes('task.created'))).toHaveLength(100)
})

test('the size of waiting messages is limited for each account', async () => {
  const sent = waitFor(1_000_000, 25, { junk: 'x'.repeat(900_000) })
  const answers = await Promise.all(Array.from({ length: 40 }, () => send(service, eve.token, sent)))
  const rejected = answers.filter(({ text }) => text.includes('Too many calls of tools'))
  expect(rejected.length).toBeGreaterThan(0)
  expect(JSON.parse(rejected[0]!.text).result.content[0].text).toContain('"retryAfterSeconds":1')
})

test.each(['modern', 'legacy'])('a wait ends when its client disconnects: %s', async (era) => {
  const version = Number((await eve.get(`/projects/${ofEve.id}`)).headers.get('docket-version'))
  const sentFor = (seconds: number) => {
    const modern = waitFor(version, seconds)
    const { _meta, ...params } = modern.body.params
    return era === 'modern' ? modern : { body: { ...modern.body, params } }
  }
  const left = new AbortController()
  const waits = Array.from({ length: 101 }, () =>
    send(service, eve.token, { ...sentFor(25), signal: left.signal }).catch(() => ({ text: 'aborted' })),
  )
  expect((await Promise.race(waits)).text).toContain('429')
  left.abort()
  await Promise.all(waits)
  let text = '429'
  // The waits of clients that stay would last longer than these attempts.
  for (let n = 0; n < 20 && text.includes('429'); n++)
    text = (await send(service, eve.token, sentFor(1))).text
  expect(text).toContain('changes')
})
