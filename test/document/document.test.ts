import { gunzipSync } from 'node:zlib'
import { createApp, openScene, openTestService, operationOf, operationsOf, register } from '../kit.ts'
import { resolveSchema, schemaErrors, undocumentedParts, words } from '../kit.ts'
import type { Client, OpenApi } from '../kit.ts'
import { openMailScene } from '../mail/scene.ts'

const { service, client, ada } = await openScene(['Ada'])
const app = createApp(service.services)
const get = async (path: string, headers = {}) =>
  app.fetch(new Request(`http://localhost${path}`, { headers }))
type Described = OpenApi & { info: { description: string } }
const api = (await client.get('/../docs/json')).body as unknown as Described
const operations = operationsOf(api)

test('the page loads nothing from another host, and its Content-Security-Policy forbids other hosts', async () => {
  const page = await get('/api/docs')
  expect(page.headers.get('content-type')).toStartWith('text/html')
  const html = await page.text()
  const links = [...html.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, link]) => link!)
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
  const assets = words('swagger-ui-bundle.js swagger-ui.css page.js')
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

test('the example of a stored file is an import that waits', () => {
  const [, { responses }] = operationOf(api, 'POST', '/projects/x/imports')
  expect(responses['202']!.content!['application/json']!.example).toMatchObject({
    state: 'queued',
    startedAt: null,
    finishedAt: null,
  })
})

test('every path and query parameter of a route is described', () => {
  for (const [name, { parameters }] of operations) {
    const path = name.split(' ')[1]!
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, one]) => one!)
    const documented = parameters.filter((one) => one.in === 'path').map((one) => one.name)
    expect([name, documented]).toEqual([name, inPath])
    for (const { name: parameter, description, required, schema, in: place } of parameters) {
      const isId = place === 'path' && parameter !== 'externalId'
      const described = isId ? /^The id of an? \w+$/ : /^\w.{5,}/
      expect([name, description]).toEqual([name, expect.stringMatching(described)])
      if (place === 'path') expect([name, schema.format]).toEqual([name, isId ? 'uuid' : undefined])
      const limits: Record<string, number[]> = { projects: [1_000, 1_000], events: [500, 100] }
      const [maximum, usual] = limits[path.split('/').at(-1)!] ?? [200, 50]
      const limit = { type: 'integer', minimum: 1, maximum, default: usual }
      if (parameter === 'limit') expect([name, schema]).toEqual([name, limit])
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

test('operation ids are a verb and a noun', () => {
  const ids = [...operations.values()].map(({ operationId }) => operationId)
  for (const id of ids) expect(id).toMatch(/^[a-z]+([A-Z][a-z]+)*$/)
  expect(new Set(ids).size).toBe(ids.length)
})

test('bodies and responses refer to named schemas', () => {
  for (const [name, { responses, requestBody }] of operations) {
    const shown = [requestBody, ...Object.values(responses)].flatMap((one) =>
      Object.values(one?.content ?? {}),
    )
    for (const { schema } of shown)
      expect([name, schema.$ref ?? schema.items?.$ref]).toEqual([name, expect.stringContaining('/schemas/')])
  }
})

test('the description of an enumeration lists its values, as the error message does', () => {
  const enumerations = Object.entries(api.components.schemas).filter(([, one]) => one.enum)
  expect(enumerations.map(([name]) => name)).toContain('DryRun')
  for (const [name, one] of enumerations)
    expect([name, one]).toEqual([
      name,
      expect.objectContaining({ description: expect.stringContaining(`One of ${one.enum!.join(', ')}`) }),
    ])
})

test('the introduction links to the guides', () => {
  const { description } = api.info
  expect(description).toContain('(/api/docs/guides/feed)')
  expect(description).not.toMatch(/\{\w+\}/)
})

test('the document contains a valid example of every event type', () => {
  const { content } = operations.get('get /api/v1/projects/{id}/events')!.responses['200']!
  const { schema, examples } = content!['application/json']! as {
    schema: object
    examples: Record<string, { value: object[] }>
  }
  expect(Object.keys(examples)).toEqual(api.components.schemas.EventType!.enum as string[])
  for (const [type, { value }] of Object.entries(examples)) {
    expect([type, schemaErrors(api, schema, value)]).toEqual([type, []])
    const [event] = value as { before: object | null; after: object | null }[]
    if (type === 'task.ready') expect(event).toMatchObject({ before: {}, after: {} })
    else expect([type, event!.before]).not.toEqual([type, event!.after])
  }
})

test('streams are documented as server-sent events, with valid messages as the example', () => {
  const streams = [...operations].flatMap(([name, { responses }]) => {
    const content = responses['200']?.content?.['text/event-stream']
    return content ? [[name, content] as const] : []
  })
  expect(streams.map(([name]) => name)).toEqual(['get /api/v1/projects/{id}/events', 'get /api/v1/events'])
  for (const [name, { schema, example }] of streams) {
    expect([name, resolveSchema(api, schema.$ref!).type]).toEqual([name, 'string'])
    const messages = String(example).split('\n\n').slice(0, -1)
    expect([name, messages[0]]).toEqual([name, expect.stringMatching(/^retry: \d+/)])
    for (const message of messages.slice(1)) {
      const data = JSON.parse(/^data: (.*)$/m.exec(message)![1]!)
      if (message.startsWith('id: '))
        expect(schemaErrors(api, { $ref: '#/components/schemas/Event' }, data)).toEqual([])
      else expect(Object.keys(data)).toEqual(['projectId', 'version'])
    }
  }
})

async function call(caller: Client, method: string, path: string, body?: unknown) {
  const response = await caller.call(method, path, body)
  const [name, operation] = operationOf(api, method, path)
  expect([name, undocumentedParts(api, operation, response)]).toEqual([name, []])
  return response
}

// every-operation.test.ts compares the responses of all other operations with the document.
test('responses of registering, signing in and mail are documented', async () => {
  await using scene = await openMailScene()
  const { client, server } = scene
  const account = { name: 'Ada', email: 'ada@example.com', password: 'secret-1' }
  for (const body of [account, account, {}]) await call(client, 'POST', '/auth/register', body)
  for (const password of ['secret-1', 'wrong'])
    await call(client, 'POST', '/auth/login', { ...account, password })
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

test('responses of exceeded rate limits, compressed responses and reads of many projects are documented', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '1', WRITES_PER_MINUTE: '1' })
  const caller = await register(strict.client)
  for (const [method, body] of [['GET'], ['POST', { name: 'P' }]] as const)
    for (const isLimited of [false, true])
      expect((await call(caller, method, '/projects', body)).status === 429).toBe(isLimited)
  await call(ada, 'POST', '/projects', { name: 'P', description: 'long '.repeat(2_000) })
  for (const after of [{ [ada.id]: 0 }, { x: -1 }]) await call(ada, 'POST', '/events/read', { after })
  const compressed = await ada.get('/projects', { 'accept-encoding': 'gzip' })
  expect(compressed.headers.get('content-encoding')).toBe('gzip')
  const { text, body } = await ada.get('/projects')
  const [, operation] = operationOf(api, 'GET', '/projects')
  expect(undocumentedParts(api, operation, { ...compressed, text, body })).toEqual([])
})
