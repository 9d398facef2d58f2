import { gunzipSync } from 'node:zlib'
import { createApp } from '../../src/app.ts'
import { type OpenApi, openScene, operationsOf, words } from '../kit.ts'

const { service } = await openScene()
const app = createApp(service.services)
const get = async (path: string, headers = {}) =>
  app.fetch(new Request(`http://localhost${path}`, { headers }))
const api = (await (await get('/api/docs/json')).json()) as OpenApi
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
      const isCount = ['after', 'limit', 'wait', 'Last-Event-ID'].includes(parameter)
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
