import { gunzipSync } from 'node:zlib'
import { createApp, fillPath, makeToken, openScene, openTestService, operationOf } from '../kit.ts'
import { operationsOf, register, undocumentedParts, withToken, words } from '../kit.ts'
import type { Client, OpenApi } from '../kit.ts'
import { openMailScene } from '../mail/scene.ts'
import { createOwnImport, endingUndo } from './own-import.ts'
import { createOwnProject, exampleFor, queryFor } from './own-project.ts'

const { service, client, sql, ada } = await openScene(['Ada'])
const app = createApp(service.services)
const get = async (path: string, headers = {}) =>
  app.fetch(new Request(`http://localhost${path}`, { headers }))
const api = (await client.get('/../docs/json')).body as unknown as OpenApi
const operations = operationsOf(api)

test('the page loads nothing from another host, and its Content-Security-Policy forbids other hosts', async () => {
  const page = await get('/api/docs')
  expect(page.headers.get('content-type')).toStartWith('text/html')
  const html = await page.text()
  const links = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link]) => link!)
  expect(links.length).toBeGreaterThanOrEqual(4)
  expect(html).not.toMatch(/(https?:)?\/\/\w/)
  for (const link of ['/api/docs', ...links]) {
    expect(link).toStartWith('/api/docs')
    const response = await get(link)
    expect([link, response.status]).toEqual([link, 200])
    expect((await response.bytes()).length).toBeGreaterThan(100)
    const policy = response.headers.get('content-security-policy')
    expect(policy).toMatch(/^default-src 'self'; .*frame-ancestors 'none'/)
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src/)
  }
  const script = await (await get('/api/docs/assets/page.js')).text()
  expect(script).toContain('documentUrl = `${basePath}/api/docs/json`')
  expect(script).toContain('validatorUrl: null')
  expect(script).not.toMatch(/https?:\/\/\w/)
  expect((await get('/api/docs/plugin')).status).toBe(404)
})

test('the page, its assets and the document are compressed for a client that accepts gzip', async () => {
  const assets = words('swagger-ui-bundle.js swagger-ui.css page.js favicon-32x32.png')
  for (const path of ['/api/docs', '/api/docs/json', ...assets.map((name) => `/api/docs/assets/${name}`)]) {
    const responses = [await get(path), await get(path, { 'accept-encoding': 'gzip' })]
    const encoding = path.endsWith('.png') ? null : 'gzip'
    const encodings = responses.map(({ headers }) => headers.get('content-encoding'))
    expect([path, responses[0]!.status, encodings]).toEqual([path, 200, [null, encoding]])
    const type = responses[0]!.headers.get('content-type')
    for (const { headers } of responses)
      expect(['vary', 'x-content-type-options', 'content-type'].map((name) => headers.get(name))).toEqual([
        'Accept-Encoding',
        'nosniff',
        type,
      ])
    const [plain, sent] = [await responses[0]!.bytes(), await responses[1]!.bytes()]
    expect(Buffer.from(encoding ? gunzipSync(sent) : sent).equals(plain)).toBeTrue()
  }
})

test('the document describes exactly the routes of the service, each with a unique summary', () => {
  // The document describes this path as /mcp.
  const routes = app.routes.filter(({ path }) => path.startsWith('/api/v1') && path !== '/api/v1/mcp')
  const names = routes.map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`)
  expect([...operations.keys()].sort()).toEqual(names.sort())
  expect(new Set([...operations.values()].map(({ summary }) => summary)).size).toBe(operations.size)
})

test('every path and query parameter of a route is described', () => {
  const routes = new Map(app.routes.map((route) => [`${route.method} ${route.path}`, route]))
  for (const [name, { parameters }] of operations) {
    const [method, path] = name.split(' ') as [string, string]
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, one]) => one!)
    const route = routes.get(`${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`)
    const inQuery = Object.keys((route?.hooks.query as { properties?: object })?.properties ?? {})
    const documented = (place: string) => parameters.filter((one) => one.in === place).map((one) => one.name)
    expect([name, documented('path'), documented('query')]).toEqual([name, inPath, inQuery])
    for (const { name: parameter, description, required, schema, in: place } of parameters) {
      expect([name, description]).toEqual([name, expect.stringMatching(/^\w.{5,}/)])
      const isRequired =
        place === 'path' ||
        ['get /api/v1/search q', 'get /api/v1/tasks/counts projectId'].includes(`${name} ${parameter}`)
      expect([name, required ?? false]).toEqual([name, isRequired])
      const { type } = schema.$ref ? api.components.schemas[schema.$ref.split('/').at(-1)!]! : schema
      const isCount = ['after', 'limit', 'wait', 'minAttempts', 'Last-Event-ID'].includes(parameter)
      expect([name, parameter, type]).toEqual([name, parameter, isCount ? 'integer' : 'string'])
    }
  }
})

test('every error is documented with the common error schema and an example', () => {
  for (const [name, { responses, requestBody, parameters, security }] of operations) {
    const expected = [500, 503]
    if (security.length) expected.push(401)
    if (requestBody) expected.push(400, 413, 415)
    if (parameters.some((one) => one.in === 'query')) expected.push(400)
    if (parameters.some((one) => one.in === 'path')) expected.push(404)
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(expected.map(String)))
    for (const [status, { content }] of Object.entries(responses)) {
      if (Number(status) < 400) continue
      const { schema, example } = content?.['application/json'] ?? {}
      expect([name, schema]).toEqual([name, { $ref: '#/components/schemas/Error' }])
      expect(example).toMatchObject({ statusCode: Number(status) })
    }
  }
  const { parameters } = operations.get('post /api/v1/tasks')!
  const key = parameters.find(({ name }) => name === 'Idempotency-Key')
  expect(key?.description).toContain('Errors are not stored')
})

test('every operation requires a bearer token, except those for callers without an account', () => {
  const bearer = { type: 'http', scheme: 'bearer', description: expect.any(String) }
  expect(api.components.securitySchemes).toEqual({ bearer })
  const open = [...operations].filter(([, { security }]) => security.length === 0).map(([name]) => name)
  const withoutToken = ['email/verify', 'login', 'password/forgot', 'password/reset', 'register']
  expect(open.sort()).toEqual(withoutToken.map((path) => `post /api/v1/auth/${path}`))
  for (const [, { security }] of operations) if (security.length) expect(security).toEqual([{ bearer: [] }])
})

/** Operations with a kind of response that a test got: success or error. */
const outcomes = new Set<string>()

async function call(caller: Client, method: string, path: string, body?: unknown, headers = {}) {
  const response = await caller.call(method, path, body, headers)
  const [name, operation] = operationOf(api, method, path)
  expect([name, undocumentedParts(api, operation, response)]).toEqual([name, []])
  outcomes.add(`${name} ${response.status < 400 ? 'success' : 'error'}`)
  return response
}

async function callVariants(caller: Client, method: string, path: string, body?: object) {
  const repeated = method === 'GET' ? { 'if-none-match': '*' } : { 'idempotency-key': `${method} ${path}` }
  const [, { parameters }] = operationOf(api, method, path)
  const ifMatch = parameters.some(({ name }) => name === 'If-Match') ? [{ 'if-match': '"other"' }] : []
  for (const headers of [{}, repeated, repeated, ...ifMatch, { 'idempotency-key': '""' }])
    await call(caller, method, path, body, headers)
  if (body) for (const invalid of ['{', '{}']) await call(caller, method, path, invalid)
}

async function registerCallers() {
  const [owner, guest, stranger] = [await register(client), await register(client), await register(client)]
  return { owner, guest, stranger, program: await withToken(owner) }
}

test("responses to the document's example requests are documented, for every kind of caller", async () => {
  const account = { name: 'Ada', email: 'ada@example.com', password: 'secret-1' }
  for (const body of [account, account]) await call(client, 'POST', '/auth/register', body)
  for (const password of ['secret-1', 'wrong'])
    await call(client, 'POST', '/auth/login', { ...account, password })
  const shared = await registerCallers()
  for (const [name, operation] of operationsOf(api)) {
    const [method = '', path = ''] = name.split(' ')
    // Operations on an account may delete it, and an export of the account has a file for each of its projects.
    const isOwn = path.includes('/auth/') || path === '/api/v1/export'
    const { owner, guest, stranger, program } = isOwn ? await registerCallers() : shared
    const ids = await createOwnProject(owner, guest, stranger)
    const ofAccount = `/projects/${ids.projectId}/service-accounts/${ids.accountId}/tokens`
    const tokens = path.startsWith('/api/v1/tokens') ? undefined : ofAccount
    const { id: tokenId } = await makeToken(owner, {}, tokens)
    const importId = await createOwnImport(sql, owner, ids, operation)
    const body = exampleFor(operation, ids) as Record<string, unknown> | undefined
    if (body?.currentPassword) body.currentPassword = account.password
    const filled = fillPath(path, { ...ids, tokenId, importId }) + queryFor(operation, ids.projectId)
    for (const caller of [owner.as(), program, stranger, guest, owner])
      await endingUndo(sql, operation, callVariants(caller, method.toUpperCase(), filled, body))
  }
})

test('responses of operations outside of projects are documented, also compressed responses', async () => {
  for (const path of words('/projects?limit=1 /projects?limit=0 /tasks?x=1 /search?q=x'))
    for (const caller of [ada, client]) await call(caller, 'GET', path)
  await call(ada, 'POST', '/projects', { name: 'P', description: 'long '.repeat(2_000) })
  for (const after of [{ [ada.id]: 0 }, { x: -1 }]) await call(ada, 'POST', '/events/read', { after })
  const compressed = await ada.get('/projects', { 'accept-encoding': 'gzip' })
  expect(compressed.headers.get('content-encoding')).toBe('gzip')
  const { text, body } = await ada.get('/projects')
  const [, operation] = operationOf(api, 'GET', '/projects')
  expect(undocumentedParts(api, operation, { ...compressed, text, body })).toEqual([])
})

test('responses of exceeded rate limits are documented', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '1', WRITES_PER_MINUTE: '1' })
  const caller = await register(strict.client)
  for (const [method, body] of [['GET'], ['POST', { name: 'P' }]] as const)
    for (const isLimited of [false, true])
      expect((await call(caller, method, '/projects', body)).status === 429).toBe(isLimited)
})

test('responses about mail are documented', async () => {
  await using scene = await openMailScene()
  const { client, server } = scene
  const ada = await register(client)
  for (const caller of [client, ada]) await call(caller, 'POST', '/auth/email/resend')
  const { token } = await server.mail(ada.email)
  for (const _ of [1, 2]) await call(client, 'POST', '/auth/email/verify', { token })
  await call(ada, 'POST', '/auth/email/resend')
  for (const email of [ada.email, 'no address'])
    await call(client, 'POST', '/auth/password/forgot', { email })
  const reset = await server.mail(ada.email, 3)
  for (const password of ['12345', 'secret-2', 'secret-3'])
    await call(client, 'POST', '/auth/password/reset', { token: reset.token, password })
})

test('these tests got a success and an error from every operation', () => {
  const names = [...operationsOf(api).keys()]
  expect([...outcomes].sort()).toEqual(names.flatMap((name) => [`${name} error`, `${name} success`]).sort())
})
