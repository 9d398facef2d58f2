import { expect, test } from 'bun:test'
import { forFile, openTestService } from '../support/service.ts'

const service = await forFile(openTestService())

const links = {
  docs: '/api/docs',
  openapi: '/api/docs/json',
  live: '/health/live',
  ready: '/health/ready',
}

test.each(['/', '/api', '/api/'])('%s leads to the docs, with links for programs', async (path) => {
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
