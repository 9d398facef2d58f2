import { expect, test } from 'bun:test'
import { register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'

const closed = await forFile(openTestService())

const origin = 'https://app.example.com'
const from = (origin: string) => ({ origin })
const corsOf = ({ headers }: { headers: Headers }) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-')).sort()
const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }

test('pages of other origins are kept out unless told otherwise', async () => {
  for (const headers of [from(origin), { ...from(origin), ...asked }]) {
    for (const method of ['GET', 'OPTIONS']) {
      expect(corsOf(await closed.client.call(method, '/projects', undefined, headers))).toEqual([])
    }
  }
})

test('pages of other origins are let in when they are named, also to read refusals', async () => {
  await using service = await openTestService({ CORS_ORIGINS: `${origin}, http://localhost:5173` })
  const someone = await register(service.client)
  const preflight = await service.client.call('OPTIONS', '/tasks', undefined, {
    ...from(origin),
    ...asked,
  })
  expect([preflight.status, preflight.text]).toEqual([204, ''])
  expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
  expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, POST, PATCH, DELETE')
  expect(preflight.headers.get('access-control-allow-headers')).toContain('Idempotency-Key')
  const plain = await someone.get('/auth/me')
  const answers = [
    await someone.get('/auth/me', from(origin)),
    await someone.get('/projects/none', from(origin)),
    await someone.post('/tasks', '{', from(origin)),
    await service.client.get('/auth/me', from(origin)),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 400, 401])
  for (const { headers } of answers) {
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-expose-headers')).toContain('ETag')
    expect(headers.get('vary')).toBe('Authorization, Origin')
    expect(headers.get('content-type')).toStartWith('application/json')
  }
  expect([answers[0]!.text, answers[0]!.headers.get('etag')]).toEqual([plain.text, plain.headers.get('etag')])
  for (const other of ['https://evil.example.com', 'https://app.example.com.evil.com', 'null']) {
    expect(corsOf(await someone.get('/auth/me', from(other)))).toEqual([])
  }
})

test('pages of other origins are all let in by a star, without credentials', async () => {
  await using service = await openTestService({ CORS_ORIGINS: '*' })
  const answer = await service.client.get('/auth/me', from('https://any.example.com'))
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
})
