import { createApp, expectError, make, openScene, openTestService, register, unknownId } from '../kit.ts'
import { withService, words } from '../kit.ts'

const { service, client, ada } = await openScene(['Ada'])
const app = createApp(service.services)

const send = async (method: string, path: string) => {
  const { status, headers, text } = await client.call(method, `/../..${path}`)
  return { status, headers, text, allow: headers.get('allow') }
}

test('OPTIONS returns the methods of a path, and any other method is rejected with 405', async () => {
  const project = `/api/v1/projects/${unknownId}`
  const allowed: Record<string, string[]> = {
    'GET, HEAD, POST, OPTIONS': ['/api/v1/projects', '/api/v1/tasks?limit=1'],
    'GET, HEAD, PATCH, DELETE, OPTIONS': [project, '/api/v1/auth/me'],
    'GET, HEAD, OPTIONS': [
      `${project}/members`,
      ...words('/api/docs /api/docs/json /health/ready / /api /health'),
    ],
    'POST, DELETE, OPTIONS': [`${project}/members/invite`],
    'PATCH, OPTIONS': ['/api/v1/tasks/subtasks/x/toggle'],
    'PATCH, DELETE, OPTIONS': ['/api/v1/tasks/subtasks/x'],
    'POST, OPTIONS': ['/api/v1/auth/login', '/api/v1/auth/login/'],
  }
  for (const [allow, paths] of Object.entries(allowed))
    for (const path of paths) {
      const options = await send('OPTIONS', path)
      expect([path, options.status, options.allow, options.text]).toEqual([path, 204, allow, ''])
      const rejected = await send('PUT', path)
      expect([path, rejected.status, rejected.allow]).toEqual([path, 405, allow])
      expect(JSON.parse(rejected.text)).toStrictEqual({
        ...{ statusCode: 405, error: 'Method Not Allowed' },
        message: `PUT is not allowed at this path; allowed: ${allow}`,
      })
      for (const { headers } of [options, rejected]) {
        expect(headers.get('x-content-type-options')).toBe('nosniff')
        expect(headers.get('x-request-id')).toMatch(/^[\w-]{8,64}$/)
      }
    }
})

test('Allow lists the method of every route', async () => {
  for (const { method, path } of app.routes) {
    const { status, allow } = await send('OPTIONS', path.replace(/:\w+/g, unknownId))
    expect([path, status, allow?.split(', ')]).toEqual([path, 204, expect.arrayContaining([method])])
  }
})

test('returns 404 for an unknown path, with every method', async () => {
  for (const path of words(`
    /nowhere /api/v1/nowhere /api/v1 // /api/v1/tasks/a/b/c /api/docs/x /api/v1/tasks#x /health/x`))
    for (const method of ['GET', 'OPTIONS', 'PUT', 'HEAD'])
      expect([path, (await send(method, path)).status]).toEqual([path, 404])
})

test('HEAD returns the status and headers of GET without a body', async () => {
  const { id } = await make(ada, '/projects', { name: 'P' })
  const projects = [id, unknownId].map((one) => `/projects/${one}`)
  for (const path of [...projects, ...words('/projects /tasks /auth/me /tasks?limit=0')]) {
    const [got, head] = [await ada.get(path), await ada.call('HEAD', path)]
    expect([path, head.status, head.text]).toEqual([path, got.status, ''])
    for (const name of words('etag content-type link cache-control vary ratelimit-policy'))
      expect([path, name, head.headers.get(name)]).toEqual([path, name, got.headers.get(name)])
  }
  expectError(await ada.as().get('/auth/me'), 401)
  expect((await ada.as().call('HEAD', '/auth/me')).status).toBe(401)
  const condition = { 'if-none-match': (await ada.get('/auth/me')).headers.get('etag')! }
  expect((await ada.call('HEAD', '/auth/me', undefined, condition)).status).toBe(304)
})

const links = { docs: '/api/docs', openapi: '/api/docs/json', live: '/health/live', ready: '/health/ready' }

test.each(['/api', '/api/'])('%s redirects to the docs, with working links for programs', async (path) => {
  const answer = await service.fetch(path)
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/api/docs'])
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(await answer.json()).toEqual(links)
  for (const link of Object.values(links))
    expect([link, (await service.fetch(link)).status]).toEqual([link, 200])
})

test('/health returns the same as /health/ready', async () => {
  const [health, ready] = [await service.fetch('/health'), await service.fetch('/health/ready')]
  expect(health.status).toBe(200)
  expect(await health.json()).toEqual(await ready.json())
  service.services.drain()
  expect((await service.fetch('/health')).status).toBe(503)
})

const origin = 'https://app.example.com'
const preflightHeaders = {
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization',
}
const corsHeaders = ({ headers }: { headers: Headers }) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'))

test('no other origin is allowed by default', () =>
  withService({}, async ({ client }) => {
    for (const headers of [{ origin }, preflightHeaders])
      for (const method of ['GET', 'OPTIONS'])
        expect(corsHeaders(await client.call(method, '/projects', undefined, headers))).toEqual([])
  }))

test('an origin of CORS_ORIGINS is allowed to send requests and to read responses and errors', async () => {
  await using service = await openTestService({ CORS_ORIGINS: `${origin}, http://localhost:5173` })
  const { client } = service
  const ada = await register(client)
  const preflight = await client.call('OPTIONS', '/tasks', undefined, preflightHeaders)
  expect([preflight.status, preflight.text]).toEqual([204, ''])
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': expect.stringContaining('Idempotency-Key'),
  })
  const plain = await ada.get('/auth/me')
  const responses = [
    await ada.get('/auth/me', { origin }),
    await ada.get('/projects/none', { origin }),
    await ada.post('/tasks', '{', { origin }),
    await client.get('/auth/me', { origin }),
    await ada.get('/auth/me', { 'if-none-match': plain.headers.get('etag')! }),
  ]
  expect(responses.map(({ status }) => status)).toEqual([200, 404, 400, 401, 304])
  for (const { headers } of responses) expect(headers.get('vary')).toBe('Authorization, Origin')
  for (const { headers } of responses.slice(0, 4)) {
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-expose-headers')).toContain('ETag')
    expect(headers.get('content-type')).toStartWith('application/json')
  }
  expect((await client.get('/../../health/live')).headers.get('vary')).toBe('Origin')
  expect([responses[0]!.text, responses[0]!.headers.get('etag')]).toEqual([
    plain.text,
    plain.headers.get('etag'),
  ])
  for (const other of ['https://evil.example.com', 'https://app.example.com.evil.com', 'null'])
    expect(corsHeaders(await ada.get('/auth/me', { origin: other }))).toEqual([])
})

test('CORS_ORIGINS=* allows every origin, without credentials', () =>
  withService({ CORS_ORIGINS: '*' }, async ({ client }) => {
    const { headers } = await client.get('/auth/me', { origin: 'https://any.example.com' })
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  }))
