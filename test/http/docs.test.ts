import { gunzipSync } from 'node:zlib'
import { expect, test } from 'bun:test'
import { createApp } from '../../src/app.ts'
import {
  schemaErrors,
  type OpenApi,
  type Operation,
  operationsOf,
  resolveSchema,
} from '../support/schema-check.ts'
import { openScene } from '../support/scene.ts'
import { words } from '../support/words.ts'

const get = async (path: string) => app.fetch(new Request('http://localhost' + path))
const { service } = await openScene()
const app = createApp(service.services)
const api = (await (await get('/api/docs/json')).json()) as OpenApi
const operations: Map<string, Operation> = operationsOf(api)

test('the page and everything it loads come from here, under a policy that allows no other place', async () => {
  const page = await get('/api/docs')
  expect(page.headers.get('content-type')).toStartWith('text/html')
  const html = await page.text()
  const links = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link]) => link!)
  expect(links.length).toBeGreaterThanOrEqual(4)
  expect(html).not.toMatch(/(https?:)?\/\/\w/)
  for (const link of ['/api/docs', ...links]) {
    expect(link).toStartWith('/api/docs')
    const answer = await get(link)
    expect([link, answer.status]).toEqual([link, 200])
    expect((await answer.bytes()).length).toBeGreaterThan(100)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const policy = answer.headers.get('content-security-policy')
    expect(policy).toMatch(/^default-src 'self'; .*frame-ancestors 'none'/)
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src/)
  }
})

test('the page, what it loads and the document are sent compressed to who takes gzip', async () => {
  const assets = words('swagger-ui-bundle.js swagger-ui.css page.js ids.js favicon-32x32.png')
  for (const at of ['', '/json', ...assets.map((name) => `/assets/${name}`)]) {
    const path = `/api/docs${at}`
    const request = new Request('http://localhost' + path, { headers: { 'accept-encoding': 'gzip' } })
    const [plain, small] = [await get(path), await app.fetch(request)]
    const isCompressed = path.endsWith('.png')
    expect([path, plain.status, plain.headers.get('content-encoding')]).toEqual([path, 200, null])
    expect([path, small.headers.get('content-encoding')]).toEqual([path, isCompressed ? null : 'gzip'])
    const [bytes, sent] = [Buffer.from(await plain.bytes()), Buffer.from(await small.bytes())]
    expect((isCompressed ? sent : gunzipSync(sent)).equals(bytes)).toBeTrue()
    const told = ({ headers }: Response) =>
      ['vary', 'x-content-type-options', 'content-type'].map((name) => headers.get(name))
    const wanted = ['Accept-Encoding', 'nosniff', plain.headers.get('content-type')]
    expect([told(plain), told(small)]).toEqual([wanted, wanted])
  }
})

test('the page is set up to ask nobody else', async () => {
  const script = await (await get('/api/docs/assets/page.js')).text()
  expect(script).toContain("documentUrl = '/api/docs/json'")
  expect(script).toContain('validatorUrl: null')
  expect(script).not.toMatch(/https?:\/\/\w/)
  expect((await get('/api/docs/plugin')).status).toBe(404)
})

test('the document holds every route of the service and no other', () => {
  const routes = app.routes.filter(({ path }) => path.startsWith('/api/v1'))
  const names = routes.map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`)
  expect([...operations.keys()].sort()).toEqual(names.sort())
})

test('every operation has a summary and a tag, and tells its operations apart', () => {
  const tags = api.tags.map(({ name }) => name)
  for (const [name, { summary, tags: own }] of operations) {
    expect([name, summary]).toEqual([name, expect.stringMatching(/^[A-Z][\w ,']{5,60}$/)])
    expect([name, own]).toEqual([name, [tags.find((tag) => tag === own[0])!]])
  }
  expect(new Set([...operations.values()].map(({ summary }) => summary)).size).toBe(operations.size)
})

test('every parameter of a path or query is described', () => {
  const routes = new Map(app.routes.map((route) => [`${route.method} ${route.path}`, route]))
  for (const [name, { parameters }] of operations) {
    const [method, path] = name.split(' ') as [string, string]
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, one]) => one!)
    const route = routes.get(`${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`)
    const inQuery = Object.keys((route?.hooks.query as { properties?: object })?.properties ?? {})
    const listed = (place: string) => parameters.filter((one) => one.in === place).map((one) => one.name)
    expect([name, listed('path')]).toEqual([name, inPath])
    expect([name, listed('query')]).toEqual([name, inQuery])
    for (const { description, required, schema, in: place } of parameters) {
      expect([name, description]).toEqual([name, expect.stringMatching(/^\w.{5,}/)])
      expect(required ?? false).toBe(place === 'path')
      const { type } = schema.$ref ? resolveSchema(api, schema.$ref) : schema
      const isCount = /^(Rows in a page|A whole number|The seq)/.test(description!)
      expect([name, type]).toEqual([name, isCount ? 'integer' : 'string'])
    }
  }
  const ofTasks = operations.get('get /api/v1/tasks')!.parameters
  expect(ofTasks.filter(({ in: place }) => place === 'query')).toHaveLength(10)
})

test('every refusal is documented in the one error shape, and said not to be kept under a key', () => {
  for (const [name, { responses, requestBody, parameters, security }] of operations) {
    const wanted = [500, 503]
    if (security.length) wanted.push(401)
    if (requestBody) wanted.push(400, 413, 415)
    if (parameters.some((one) => one.in === 'query')) wanted.push(400)
    if (parameters.some((one) => one.in === 'path')) wanted.push(404)
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(wanted.map(String)))
    for (const [status, { content, description }] of Object.entries(responses)) {
      expect([name, status, description]).toEqual([name, status, expect.stringMatching(/^\w+/)])
      if (Number(status) < 400) continue
      const { schema, example } = content?.['application/json'] ?? {}
      expect(schema).toEqual({ $ref: '#/components/schemas/Error' })
      expect(schemaErrors(api, schema!, example)).toEqual([])
      expect(example).toMatchObject({ statusCode: Number(status) })
    }
  }
  const { parameters } = operations.get('post /api/v1/tasks')!
  const key = parameters.find(({ name }) => name === 'Idempotency-Key')
  expect(key?.description).toContain('Refusals are not kept')
})

test('operations need a bearer token, except those of a caller who has none yet', () => {
  const token = { type: 'http', scheme: 'bearer', description: expect.any(String) }
  expect(api.components.securitySchemes).toEqual({ bearer: token })
  const open = [...operations].filter(([, { security }]) => security.length === 0).map(([name]) => name)
  const withoutToken = ['email/verify', 'login', 'password/forgot', 'password/reset', 'register']
  expect(open.sort()).toEqual(withoutToken.map((path) => `post /api/v1/auth/${path}`))
  for (const [, { security }] of operations) if (security.length) expect(security).toEqual([{ bearer: [] }])
})
