import { readFileSync } from 'node:fs'
import { AggregatorRegistry } from 'prom-client'
import { openCounts, RequestDurations } from '../../src/metrics/counts.ts'
import { counter, Distribution, gauge, histogram, withProcessLabel } from '../../src/metrics/family.ts'
import { collectFamilies, openProcessFamilies, serviceFamilies } from '../../src/process/metrics-server.ts'
import { Lags } from '../../src/subscriptions/subscriptions.ts'
import { workerFamilies } from '../../workers/metrics.ts'
import { createApp, eventually, make, openScene, upTo, words } from '../kit.ts'
import { alerts, dashboard, targets } from '../metrics/watched.ts'

const labelsByMetric = new Map<string, string[]>()
const { service, ada } = await openScene(['Ada'], { METRICS_PORT: '1' })
await service.client.get('/auth/me')
const { services } = service
const jobs = await collectFamilies(workerFamilies(services, new Map()))
for (const { name, type, values } of [...openProcessFamilies()(), ...serviceFamilies(services), ...jobs]) {
  for (const { value } of values) expect([name, value]).toEqual([name, expect.any(Number)])
  const labels = [...new Set(values.flatMap(({ labels }) => Object.keys(labels)))]
  const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name]
  for (const one of names) labelsByMetric.set(one, labels)
}

/** Labels that Prometheus adds. */
const added = ['job', 'instance', 'process']

test('alerts and dashboard use only existing metrics and labels', () => {
  const texts = [readFileSync(alerts, 'utf8'), ...targets.map(({ expr }) => expr)]
  const names = texts.flatMap((text) => text.match(/\bdocket_\w+/g) ?? [])
  expect(names.length).toBeGreaterThan(30)
  expect(names.filter((name) => !labelsByMetric.has(name))).toEqual([])
  for (const { expr, legendFormat } of targets) {
    const labels = expr.match(/\bdocket_\w+/g)!.flatMap((name) => labelsByMetric.get(name)!)
    const used = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!)
    for (const label of used) expect([expr, [...labels, ...added].includes(label)]).toEqual([expr, true])
  }
})

test('every metric appears in the dashboard or the alerts', () => {
  const text = readFileSync(alerts, 'utf8') + JSON.stringify(dashboard)
  const families = [...labelsByMetric.keys()]
    .filter((name) => !/_(sum|count)$/.test(name))
    .map((name) => name.replace(/_bucket$/, ''))
  const unseen = families.filter((name) => !text.includes(name))
  expect(unseen).toEqual([])
})

test('no label grows with the number of users or projects', () => {
  const labels = new Set([...labelsByMetric.values()].flat())
  const few = words('method route status le outcome cache result pool batch follower mode state')
  expect([...labels].filter((label) => !few.includes(label))).toEqual([])
  expect(openCounts().requests.all()).toEqual([])
})

const formatted = (...all: object[]) => AggregatorRegistry.aggregate(all).metrics()

test('formats a distribution as a histogram with cumulative buckets', async () => {
  const sizes = new Distribution([1, 10])
  for (const size of [0.5, 1, 2, 10, 11, 1000]) sizes.add(size)
  const text = await formatted([histogram('sizes', 'Sizes.', [[{ of: 'x' }, sizes]])])
  expect(text.trim().split('\n')).toEqual([
    '# HELP docket_sizes Sizes.',
    '# TYPE docket_sizes histogram',
    'docket_sizes_bucket{of="x",le="1"} 2',
    'docket_sizes_bucket{of="x",le="10"} 4',
    'docket_sizes_bucket{of="x",le="+Inf"} 6',
    'docket_sizes_sum{of="x"} 1024.5',
    'docket_sizes_count{of="x"} 6',
  ])
})

test('aggregates the metrics of several processes, labelled by process', async () => {
  const of = (name: string, count: number) => withProcessLabel(name, [counter('done_total', 'Done.', count)])
  expect((await formatted(of('web-1', 3), of('web-2', 4))).trim().split('\n')).toEqual([
    '# HELP docket_done_total Done.',
    '# TYPE docket_done_total counter',
    'docket_done_total{process="web-1"} 3',
    'docket_done_total{process="web-2"} 4',
  ])
  expect(await formatted([gauge('now', 'Now.', [])], [])).toContain('# TYPE docket_now gauge')
})

test('counts unknown request methods under one label value', () => {
  const requests = new RequestDurations()
  requests.add('/a/:id', 'GET', 200, performance.now())
  requests.add('none', 'BREW', 405, undefined)
  requests.add('none', 'STEEP', 405, undefined)
  expect(requests.all().map(([labels, { total }]) => [labels, total])).toEqual([
    [{ method: 'GET', route: '/a/:id', status: '200' }, 1],
    [{ method: 'other', route: 'none', status: '405' }, 2],
  ])
})

test('reports the largest lag among all streams', () => {
  const lags = new Lags()
  const over = new AbortController()
  const subscription = { notified: 9 }
  const one = lags.track(over.signal, subscription, 0)
  const other = lags.track(new AbortController().signal, { notified: 9 }, 9)
  expect(lags.worst()).toEqual({ streams: 2, events: 9, seconds: expect.any(Number) })
  one.update(5, 9)
  other.update(9, 9)
  expect(lags.worst()).toEqual({ streams: 2, events: 4, seconds: expect.any(Number) })
  expect(one.seconds).toBeGreaterThanOrEqual(0)
  one.update(9, 9)
  expect(lags.worst()).toEqual({ streams: 2, events: 0, seconds: 0 })
  subscription.notified = 12
  expect([one.events, other.events]).toEqual([3, 0])
  over.abort()
  lags.track(over.signal, subscription, 0)
  expect(lags.worst().streams).toBe(1)
})

async function metrics() {
  const families = await collectFamilies(workerFamilies(service.services, new Map()))
  return Object.fromEntries(
    families.flatMap(({ name, values }) =>
      values.map(({ labels, value }) => [[name, ...Object.values(labels)].join(' '), value]),
    ),
  )
}

test('reports the number of webhooks in each state, and the largest lag among webhooks that do not fail', async () => {
  expect(await metrics()).toMatchObject({
    'docket_webhooks enabled': 0,
    'docket_follower_lag_seconds webhook': 0,
  })
  const { id: projectId } = await make(ada, '/projects', { name: 'Hooked' })
  const hook = (path: string) =>
    make(ada, `/projects/${projectId}/webhooks`, { url: `http://127.0.0.1:9/${path}` })
  const [, failing, ended] = [await hook('a'), await hook('b'), await hook('c')]
  for (const title of ['One', 'Two']) await make(ada, '/tasks', { title, projectId })
  const { background: sql } = service.services.database
  await sql`update webhooks set failures = 3, cursor = 0 where id = ${failing!.id}`
  await sql`update webhooks set disabled_at = now(), cursor = 0 where id = ${ended!.id}`
  await sql`update events set at = now() - interval '90 s' where project_id = ${projectId} and seq = 3`
  const now = await metrics()
  expect(now).toMatchObject({
    'docket_webhooks enabled': 1,
    'docket_webhooks failing': 1,
    'docket_webhooks disabled': 1,
    'docket_follower_lag_events webhook': 4,
  })
  expect(now['docket_follower_lag_seconds webhook']).toBeGreaterThan(89)
})

async function scraped(name: string): Promise<number> {
  const text = await AggregatorRegistry.aggregate([serviceFamilies(service.services)]).metrics()
  return Number(new RegExp(`^docket_${name}\\{follower="stream"\\} (.+)$`, 'm').exec(text)?.[1])
}

async function openBlocked(projectId: string) {
  const path = `http://localhost/api/v1/projects/${projectId}/events`
  const headers = { authorization: `Bearer ${ada.token}`, accept: 'text/event-stream' }
  const { status, body } = await createApp(service.services).fetch(new Request(path, { headers }))
  expect(status).toBe(200)
  const reader = body!.getReader()
  await reader.read()
  return reader
}

test('the lag of a stream whose client does not read grows with every event', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Followed' })
  const reader = await openBlocked(projectId)
  const create = (n: number) => make(ada, '/tasks', { title: `T ${n}`, projectId })
  for (const n of upTo(10)) await create(n)
  await eventually('a lag above 0', async () => (await scraped('follower_lag_events')) > 0)
  const before = await scraped('follower_lag_events')
  for (const n of upTo(40)) await create(n)
  await eventually(
    'the lag to count all events',
    async () => (await scraped('follower_lag_events')) === before + 40,
  )
  expect(await scraped('follower_lag_seconds')).toBeGreaterThan(0)
  await reader.cancel()
  await eventually('a lag of 0', async () => (await scraped('follower_lag_events')) === 0)
})
