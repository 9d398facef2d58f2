import { settingNames } from '../../src/config.ts'
import { misspeltSettings } from '../../src/process/startup-banner.ts'
import { createApp, eventually, make, openLog, openTestService, register, requestHead } from '../kit.ts'
import { sendRaw, words } from '../kit.ts'
import { busyMs, openBusyCheck } from '../../src/process/busy-home.ts'
import type { Peer } from '../../src/routing/rpc.ts'
import { ownMachine, unreachableHost } from '../../src/routing/own-address.ts'
import type { Log } from '../../src/logger.ts'
import { retirePort } from '../../src/process/listen.ts'

const reported = (inFiles: string[], inEnvironment: string[] = []) =>
  misspeltSettings({ settings: settingNames(), inFiles, inEnvironment }).map(({ name, suggestion }) => [
    name,
    suggestion,
  ])

test('reports an unknown variable of .env, and suggests the nearest setting', () => {
  expect(reported(['WRITE_TIMEOUT', 'HISTORYDAYS', 'LOG_LEVL', 'PROT', 'COLOUR', 'PORT'])).toEqual([
    ['WRITE_TIMEOUT', 'WRITE_TIMEOUT_MS'],
    ['HISTORYDAYS', 'HISTORY_DAYS'],
    ['LOG_LEVL', 'LOG_LEVEL'],
    ['PROT', 'PORT'],
    ['COLOUR', undefined],
  ])
})

test('accepts variables of .env that other programs read', () => {
  const others = words('POSTGRES_PASSWORD POSTGRES_HOST REDIS_PASSWORD COMPOSE_PROJECT_NAME PGPASSWORD')
  const runtime = words('TZ HTTPS_PROXY http_proxy NODE_EXTRA_CA_CERTS BUN_OPTIONS OTEL_SERVICE_NAME')
  expect(reported([...others, ...runtime])).toEqual([])
  expect(reported(['NODE_ENVV'])).toEqual([['NODE_ENVV', 'NODE_ENV']])
})

test('reports an unknown environment variable only if its name is a typo of a setting', () => {
  expect(reported([], ['READ_CONECTIONS', 'LOGLEVEL'])).toEqual([
    ['READ_CONECTIONS', 'READ_CONNECTIONS'],
    ['LOGLEVEL', 'LOG_LEVEL'],
  ])
  const usual = words('PATH HOME PWD HOSTNAME HOSTTYPE LOGNAME USER LANG TERM SHLVL EDITOR')
  const desktop = words('XDG_DATA_DIRS DATA_HOME COLORTERM npm_lifecycle_event NODE INIT_CWD POST')
  expect(reported([], [...usual, ...desktop, ...Object.keys(process.env), ...settingNames()])).toEqual([])
})

const minute = 60_000

/** Returns the warnings after minutes in which the event loop was busy for the given percentages. */
function warningsAfter(percents: number[], isHome = true): [afterMinutes: number, busyPercent: number][] {
  const warnings: [number, number][] = []
  let time = 0
  let busy = 0
  const warn = ({ busyPercent }: { busyPercent: number }, message: string) => {
    expect(message).toContain('set a higher WRITE_SHARDS')
    warnings.push([time / minute, busyPercent])
  }
  const check = openBusyCheck({
    isHome: () => isHome,
    log: { warn } as unknown as Log,
    now: () => time,
    readBusyMs: () => busy,
  })
  for (const percent of percents) {
    time += minute
    busy += (percent / 100) * minute
    check()
  }
  return warnings
}

const repeated = (percent: number, minutes: number) => Array.from({ length: minutes }, () => percent)

test('a home whose event loop was busy for more than 80 % of a minute warns, at most once an hour', () => {
  expect(warningsAfter([79, 80, 81, 100])).toEqual([[3, 81]])
  expect(warningsAfter(repeated(90, 121))).toEqual([
    [1, 90],
    [61, 90],
    [121, 90],
  ])
  expect(warningsAfter([95, ...repeated(10, 70), 99])).toEqual([
    [1, 95],
    [72, 99],
  ])
})

test('a busy process that is no home does not warn', () => {
  expect(warningsAfter(repeated(100, 3), false)).toEqual([])
})

test('the time of a busy event loop counts', () => {
  const before = busyMs()
  const end = performance.now() + 300
  while (performance.now() < end);
  expect(busyMs() - before).toBeGreaterThan(100)
})

const peer = (host: string, machine = ownMachine()): Peer => ({ id: 'b', host, port: 4000, machine })

test('a process at loopback is unreachable for a process that has another machine or a network address', () => {
  const isUnreachable = (...hosts: [own: string, ...others: Peer[]]) =>
    unreachableHost(peer(hosts[0]), hosts.slice(1) as Peer[]) !== undefined
  for (const own of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
    expect([own, isUnreachable(own, peer('10.0.0.7'))]).toEqual([own, true])
    expect([own, isUnreachable(own, peer('127.0.0.1'), peer('127.0.0.1', 'other'))]).toEqual([own, true])
    expect([own, isUnreachable(own, peer('127.0.0.1'))]).toEqual([own, false])
    // The previous release does not announce its machine.
    expect([own, isUnreachable(own, { id: 'b', host: '::1', port: 4000 })]).toEqual([own, false])
  }
  for (const own of ['10.0.0.8', 'web-1', 'fd00::2'])
    expect([own, isUnreachable(own, peer('127.0.0.1', 'other'), peer('10.0.0.7'))]).toEqual([own, false])
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
  const other = JSON.stringify(peer('127.0.0.1', 'another machine'))
  await redis.zadd(key, Date.now(), other)
  await eventually('the process to become unready', async () => (await ready()).status === 503)
  expect((await ready()).body).toMatchObject({
    status: 'unready',
    problem: expect.stringContaining('set HOME_HOST'),
  })
  await redis.zrem(key, other)
  await eventually('the process to become ready again', async () => (await ready()).status === 200)
})

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
