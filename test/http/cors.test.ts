import { expect, test } from 'bun:test'
import { register } from '../support/client.ts'
import { openTestService, withService } from '../support/service.ts'

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
