import { createApp } from '../../src/app.ts'
import { eventually, make, openLog, openTestService, register, requestHead, sendRaw } from '../kit.ts'
import { retirePort } from '../../src/process/listen.ts'

const longMs = 600_000
const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PATCH', 'PUT']
const varyingHeaders = /^(date|x-request-id|ratelimit|connection|keep-alive|age):.*(\r\n|$)/gim

test('a process that retires its port sends the same responses as before, and closes each connection', async () => {
  await using service = await openTestService()
  const app = createApp(service.services)
  app.listen({ hostname: '127.0.0.1', port: 0, idleTimeout: 30 })
  const ada = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Handed over' })
  const { id } = await make(ada, '/tasks', { title: 'Read', projectId })
  const api = [
    `/projects/${projectId}`,
    `/projects/${projectId}/`,
    `/projects/${projectId}/x//../`,
    `/tasks/${id}?x=1`,
    `/tasks?projectId=${projectId}`,
    '/auth/me',
  ]
  const pages = ['/', '/health/live', '/health/ready', '/api/docs', '/nowhere', '/nowhere/../api/docs']
  const paths = [...pages, ...api.map((path) => `/api/v1${path}`)]
  const send = async (method: string, path: string) => {
    const headers = { Host: 'web', Authorization: `Bearer ${ada.token}`, 'Content-Length': 0 }
    const answer = await sendRaw(app.server!.url.href, requestHead(method, path, headers))
    return [method, path, answer.head.replace(varyingHeaders, ''), answer.body.length]
  }
  const requests = paths.flatMap((path) => methods.map((method) => [method, path] as const))
  const all = () => Promise.all(requests.map((one) => send(...one)))
  const before = await all()
  void retirePort(app, longMs, openLog('silent'))
  expect((await fetch(`${app.server!.url}health/live`)).headers.get('connection')).toBe('close')
  expect(await all()).toEqual(before)
  await app.server!.stop(true)
})

test('a stopping process ends the wait of claim-next with 204, and closes the connection', async () => {
  await using service = await openTestService()
  const ada = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Empty' })
  const claimNext = () => ada.post(`/projects/${projectId}/claim-next`, { leaseSeconds: 60, wait: 25 })
  const waiting = claimNext()
  await eventually('a wait', () => service.services.subscriptions.countOf(projectId) === 1)
  service.services.subscriptions.end()
  for (const { status, headers } of [await waiting, await claimNext()])
    expect([status, headers.get('connection')]).toEqual([204, 'close'])
})
