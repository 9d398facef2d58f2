import { expect, test } from 'bun:test'
import { createApp } from '../../src/app.ts'
import { make } from '../support/client.ts'
import { absentId, expectRefusal } from './answers.ts'
import { words } from '../support/words.ts'
import { openScene } from '../support/scene.ts'

const { service, ada } = await openScene(['Ada'])
const app = createApp(service.services)

const ask = async (method: string, path: string) => {
  const answer = await app.fetch(new Request('http://localhost' + path, { method }))
  return {
    status: answer.status,
    allow: answer.headers.get('allow'),
    headers: answer.headers,
    text: await answer.text(),
  }
}

test('every path says which methods it takes, and refuses others with 405', async () => {
  const allowed = {
    '/api/v1/projects': 'GET, HEAD, POST, OPTIONS',
    [`/api/v1/projects/${absentId}`]: 'GET, HEAD, PATCH, DELETE, OPTIONS',
    [`/api/v1/projects/${absentId}/members`]: 'GET, HEAD, OPTIONS',
    [`/api/v1/projects/${absentId}/members/invite`]: 'POST, DELETE, OPTIONS',
    '/api/v1/tasks/subtasks/x/toggle': 'PATCH, OPTIONS',
    '/api/v1/tasks/subtasks/x': 'PATCH, DELETE, OPTIONS',
    '/api/v1/auth/me': 'GET, HEAD, PATCH, DELETE, OPTIONS',
    '/api/v1/auth/login': 'POST, OPTIONS',
    '/api/v1/auth/login/': 'POST, OPTIONS',
    '/api/v1/tasks?limit=1': 'GET, HEAD, POST, OPTIONS',
    '/api/docs': 'GET, HEAD, OPTIONS',
    '/api/docs/json': 'GET, HEAD, OPTIONS',
    '/health/ready': 'GET, HEAD, OPTIONS',
    '/': 'GET, HEAD, OPTIONS',
    '/api': 'GET, HEAD, OPTIONS',
    '/health': 'GET, HEAD, OPTIONS',
  }
  for (const [path, allow] of Object.entries(allowed)) {
    const options = await ask('OPTIONS', path)
    expect([path, options.status, options.allow, options.text]).toEqual([path, 204, allow, ''])
    const refused = await ask('PUT', path)
    expect([path, refused.status, refused.allow]).toEqual([path, 405, allow])
    expect(JSON.parse(refused.text)).toStrictEqual({
      statusCode: 405,
      message: `PUT is not allowed at this path, which takes ${allow}`,
      error: 'Method Not Allowed',
    })
    for (const { headers } of [options, refused]) {
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-request-id')).toMatch(/^[\w-]{8,64}$/)
    }
  }
})

test('every route is among the methods of its path', async () => {
  for (const { method, path } of app.routes) {
    const { status, allow } = await ask('OPTIONS', path.replace(/:\w+/g, absentId))
    expect([path, status, allow?.split(', ')]).toEqual([path, 204, expect.arrayContaining([method])])
  }
})

test('a path that is not there has no methods', async () => {
  for (const path of words(`
    /nowhere /api/v1/nowhere /api/v1 // /api/v1/tasks/a/b/c /api/docs/x /api/v1/tasks#x /health/x`)) {
    for (const method of ['GET', 'OPTIONS', 'PUT', 'HEAD'])
      expect([path, (await ask(method, path)).status]).toEqual([path, 404])
  }
})

test('HEAD answers what GET does, without the body', async () => {
  const { id } = await make(ada, '/projects', { name: 'P' })
  for (const path of [
    `/projects/${id}`,
    '/projects',
    '/tasks',
    '/auth/me',
    `/projects/${absentId}`,
    '/tasks?limit=0',
  ]) {
    const [got, head] = [await ada.get(path), await ada.call('HEAD', path)]
    expect([path, head.status, head.text]).toEqual([path, got.status, ''])
    for (const name of ['etag', 'content-type', 'link', 'cache-control', 'vary', 'ratelimit-policy']) {
      expect([path, name, head.headers.get(name)]).toEqual([path, name, got.headers.get(name)])
    }
  }
  expectRefusal(await ada.as().get('/auth/me'), 401)
  expect((await ada.as().call('HEAD', '/auth/me')).status).toBe(401)
  const { headers } = await ada.get('/auth/me')
  expect(
    (await ada.call('HEAD', '/auth/me', undefined, { 'if-none-match': headers.get('etag')! })).status,
  ).toBe(304)
})

const links = {
  docs: '/api/docs',
  openapi: '/api/docs/json',
  live: '/health/live',
  ready: '/health/ready',
}

test.each(['/api', '/api/'])('%s leads to the docs, with links for programs', async (path) => {
  const answer = await service.fetch(path)
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/api/docs'])
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(await answer.json()).toEqual(links)
})

test('each link leads somewhere', async () => {
  for (const path of Object.values(links))
    expect([path, (await service.fetch(path)).status]).toEqual([path, 200])
})

test('/health answers as /health/ready', async () => {
  const [health, ready] = [await service.fetch('/health'), await service.fetch('/health/ready')]
  expect(health.status).toBe(200)
  expect(await health.json()).toEqual(await ready.json())
  service.services.drain()
  expect((await service.fetch('/health')).status).toBe(503)
})
