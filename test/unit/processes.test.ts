import { createApp, eventually, make, openLog, openScene, openTestService, requestHead } from '../kit.ts'
import { sendRaw, words } from '../kit.ts'
import { busyMs, openBusyCheck } from '../../src/process/metrics-server.ts'
import type { Log } from '../../src/logger.ts'
import { retirePort } from '../../src/process/port.ts'

const minute = 60_000
const repeated = (percent: number, minutes: number) => Array.from({ length: minutes }, () => percent)

/** The percentages of busy minutes, and the warnings: the minute and the percentage. */
test.each([
  [[79, 80, 81, 100], true, '3: 81'],
  [repeated(90, 121), true, '1: 90, 61: 90, 121: 90'],
  [[95, ...repeated(10, 70), 99], true, '1: 95, 72: 99'],
  [repeated(100, 3), false, ''],
])(
  'a home that is busy for more than 80 %% of a minute warns, at most once an hour',
  (percents, isHome, expected) => {
    const warnings: string[] = []
    let [time, busy] = [0, 0]
    const warn = ({ busyPercent }: { busyPercent: number }, message: string) => {
      expect(message).toContain('set a higher WRITE_SHARDS')
      warnings.push(`${time / minute}: ${busyPercent}`)
    }
    const log = { warn } as unknown as Log
    const check = openBusyCheck(
      { isHome: () => isHome, log },
      () => busy,
      () => time,
    )
    for (const percent of percents) {
      time += minute
      busy += (percent / 100) * minute
      check()
    }
    expect(warnings.join(', ')).toBe(expected)
  },
)

test('the time of a busy event loop counts', () => {
  const before = busyMs()
  const end = performance.now() + 300
  while (performance.now() < end);
  expect(busyMs() - before).toBeGreaterThan(100)
})

test('a process at loopback is not ready while a process of another machine is alive, and says what to set', async () => {
  await using service = await openTestService()
  const { redis, config } = service.services
  const ready = async () => {
    const response = await service.fetch('/health/ready')
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }
  await service.services.join(true)
  expect(await ready()).toEqual({ status: 200, body: { status: 'ok', postgres: 'ok', redis: 'ok' } })
  const key = `${config.redisPrefix}:{homes-2}:living`
  const other = JSON.stringify({ id: 'b', host: '127.0.0.1', port: 4000, machine: 'another machine' })
  await redis.zadd(key, Date.now(), other)
  await eventually('the process to become unready', async () => (await ready()).status === 503)
  expect((await ready()).body).toMatchObject({
    status: 'unready',
    problem: expect.stringContaining('set HOME_HOST'),
  })
  await redis.zrem(key, other)
  await eventually('the process to become ready again', async () => (await ready()).status === 200)
})

const { service, ada } = await openScene(['Ada'], {})
const { id: projectId } = await make(ada, '/projects', { name: 'Handed over' })
const methods = words('GET HEAD OPTIONS POST PATCH PUT')
const varyingHeaders = /^(date|x-request-id|ratelimit|connection|keep-alive|age):.*(\r\n|$)/gim

test('a process that retires its port sends the same responses as before, and closes each connection', async () => {
  const app = createApp(service.services)
  app.listen({ hostname: '127.0.0.1', port: 0, idleTimeout: 30 })
  const { id } = await make(ada, '/tasks', { title: 'Read', projectId })
  const project = `/projects/${projectId}`
  const api = [
    project,
    `${project}/`,
    `${project}/x//../`,
    `/tasks/${id}?x=1`,
    `/tasks?projectId=${projectId}`,
    '/auth/me',
  ]
  const pages = words('/ /health/live /health/ready /api/docs /nowhere /nowhere/../api/docs')
  const paths = [...pages, ...api.map((path) => `/api/v1${path}`)]
  const send = async (method: string, path: string) => {
    const headers = { Host: 'web', Authorization: `Bearer ${ada.token}`, 'Content-Length': 0 }
    const answer = await sendRaw(app.server!.url.href, requestHead(method, path, headers))
    return [method, path, answer.head.replace(varyingHeaders, ''), answer.body.length]
  }
  const all = () => Promise.all(paths.flatMap((path) => methods.map((method) => send(method, path))))
  const before = await all()
  void retirePort(app, 600_000, openLog('silent'))
  expect((await fetch(`${app.server!.url}health/live`)).headers.get('connection')).toBe('close')
  expect(await all()).toEqual(before)
  await app.server!.stop(true)
})

test('a stopping process ends the wait of claim-next with 204, and closes the connection', async () => {
  const { subscriptions } = service.services
  const { id } = await make(ada, '/projects', { name: 'Empty' })
  const claimNext = () => ada.post(`/projects/${id}/claim-next`, { leaseSeconds: 60, wait: 25 })
  const waiting = claimNext()
  await eventually('a wait', () => subscriptions.countOf(id) === 1)
  subscriptions.end()
  for (const { status, headers } of [await waiting, await claimNext()])
    expect([status, headers.get('connection')]).toEqual([204, 'close'])
})
