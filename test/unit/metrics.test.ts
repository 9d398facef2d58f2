import { readFileSync } from 'node:fs'
import { AggregatorRegistry } from 'prom-client'
import {
  openCounts,
  RequestDurations,
  counter,
  Distribution,
  histogram,
  withProcessLabel,
} from '../../src/metrics/counts.ts'
import { collectFamilies, openProcessFamilies, serviceFamilies } from '../../src/process/metrics-server.ts'
import { Lags } from '../../src/subscriptions/subscriptions.ts'
import { workerFamilies } from '../../workers/metrics.ts'
import { createApp, eventually, make, openScene, upTo, words } from '../kit.ts'
import { alerts, dashboard, targets } from '../metrics/watched.ts'

const { service, ada } = await openScene(['Ada'], { METRICS_PORT: '1' })
await service.client.get('/auth/me')
const { services } = service
const labelsByMetric = new Map<string, string[]>()
const jobs = await collectFamilies(workerFamilies(services, new Map()))
for (const { name, type, values } of [...openProcessFamilies()(), ...serviceFamilies(services), ...jobs]) {
  for (const { value } of values) expect([name, value]).toEqual([name, expect.any(Number)])
  const labels = [...new Set(values.flatMap(({ labels }) => Object.keys(labels)))]
  const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name]
  for (const one of names) labelsByMetric.set(one, labels)
}

const metricsIn = (text: string) => text.match(/\bdocket_\w+/g) ?? []

test('alerts and dashboard use only existing metrics and labels, and every metric', () => {
  const alerting = readFileSync(alerts, 'utf8')
  const names = [alerting, ...targets.map(({ expr }) => expr)].flatMap(metricsIn)
  expect(names.length).toBeGreaterThan(30)
  expect(names.filter((name) => !labelsByMetric.has(name))).toEqual([])
  for (const { expr, legendFormat } of targets) {
    // Prometheus adds the first three labels.
    const added = words('job instance process')
    const labels = [...added, ...metricsIn(expr).flatMap((name) => labelsByMetric.get(name)!)]
    const used = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!)
    expect([expr, used.filter((label) => !labels.includes(label))]).toEqual([expr, []])
  }
  const text = alerting + JSON.stringify(dashboard)
  const families = [...labelsByMetric.keys()].filter((name) => !/_(sum|count)$/.test(name))
  expect(families.filter((name) => !text.includes(name.replace(/_bucket$/, '')))).toEqual([])
})

test('no label grows with the number of users or projects', () => {
  const labels = new Set([...labelsByMetric.values()].flat())
  const few = words('method route status le outcome cache result pool batch follower mode state')
  expect([...labels].filter((label) => !few.includes(label))).toEqual([])
  expect(openCounts().requests.all()).toEqual([])
  const requests = new RequestDurations()
  requests.add('/a/:id', 'GET', 200, performance.now())
  for (const method of ['BREW', 'STEEP']) requests.add('none', method, 405, undefined)
  expect(requests.all().map(([labels, { total }]) => [labels, total])).toEqual([
    [{ method: 'GET', route: '/a/:id', status: '200' }, 1],
    [{ method: 'other', route: 'none', status: '405' }, 2],
  ])
})

test('formats distributions as histograms with cumulative buckets, and counters of several processes', async () => {
  const sizes = new Distribution([1, 10])
  for (const size of [0.5, 1, 2, 10, 11, 1000]) sizes.add(size)
  const done = (process: string, count: number) =>
    withProcessLabel(process, [counter('done_total', 'Done.', count)])
  const all = [histogram('sizes', 'Sizes.', [[{ of: 'x' }, sizes]])]
  const lines = (
    await AggregatorRegistry.aggregate([all, done('web-1', 3), done('web-2', 4)]).metrics()
  ).split('\n')
  expect(lines.filter((line) => line && !line.startsWith('#'))).toEqual([
    'docket_sizes_bucket{of="x",le="1"} 2',
    'docket_sizes_bucket{of="x",le="10"} 4',
    'docket_sizes_bucket{of="x",le="+Inf"} 6',
    'docket_sizes_sum{of="x"} 1024.5',
    'docket_sizes_count{of="x"} 6',
    'docket_done_total{process="web-1"} 3',
    'docket_done_total{process="web-2"} 4',
  ])
})

test('reports the largest lag among all streams', () => {
  const lags = new Lags()
  const over = new AbortController()
  const subscription = { notified: 9 }
  const one = lags.track(over.signal, subscription, 0)
  const other = lags.track(new AbortController().signal, { notified: 9 }, 9)
  const expectWorst = (events: number, seconds = expect.any(Number) as number) =>
    expect(lags.worst()).toEqual({ streams: 2, events, seconds })
  expectWorst(9)
  one.update(5, 9)
  other.update(9, 9)
  expectWorst(4)
  one.update(9, 9)
  expectWorst(0, 0)
  subscription.notified = 12
  expect([one.measure().events, other.measure().events]).toEqual([3, 0])
  over.abort()
  lags.track(over.signal, subscription, 0)
  expect(lags.worst().streams).toBe(1)
})

async function ofWorkers(): Promise<Record<string, number>> {
  const families = await collectFamilies(workerFamilies(services, new Map()))
  const entries = families.flatMap(({ name, values }) =>
    values.map(({ labels, value }) => [[name, ...Object.values(labels)].join(' '), value]),
  )
  return Object.fromEntries(entries)
}

test('reports the largest lag among webhooks that do not fail', async () => {
  expect(await ofWorkers()).toMatchObject({ 'docket_follower_lag_seconds webhook': 0 })
  const { id: projectId } = await make(ada, '/projects', { name: 'Hooked' })
  const hook = (path: string) =>
    make(ada, `/projects/${projectId}/webhooks`, { url: `http://127.0.0.1:9/${path}` })
  const [, failing, ended] = [await hook('a'), await hook('b'), await hook('c')]
  for (const title of ['One', 'Two']) await make(ada, '/tasks', { title, projectId })
  const { background: sql } = services.database
  await sql`update webhooks set failures = 3, cursor = 0 where id = ${failing!.id}`
  await sql`update webhooks set disabled_at = now(), cursor = 0 where id = ${ended!.id}`
  await sql`update events set at = now() - interval '90 s' where project_id = ${projectId} and seq = 3`
  const now = await ofWorkers()
  expect(now['docket_follower_lag_events webhook']).toBe(4)
  expect(now['docket_follower_lag_seconds webhook']).toBeGreaterThan(89)
})

test('the lag of a stream whose client does not read grows with every event', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Followed' })
  const path = `http://localhost/api/v1/projects/${projectId}/events`
  const headers = { authorization: `Bearer ${ada.token}`, accept: 'text/event-stream' }
  const reader = (await createApp(services).fetch(new Request(path, { headers }))).body!.getReader()
  await reader.read()
  const lag = async (unit: string) => {
    const text = await AggregatorRegistry.aggregate([serviceFamilies(services)]).metrics()
    return Number(
      new RegExp(`^docket_follower_lag_${unit}\\{follower="stream"\\} (.+)$`, 'm').exec(text)?.[1],
    )
  }
  const createAll = async (count: number) => {
    for (const n of upTo(count)) await make(ada, '/tasks', { title: `T ${n}`, projectId })
  }
  await createAll(10)
  await eventually('a lag above 0', async () => (await lag('events')) > 0)
  const before = await lag('events')
  await createAll(40)
  await eventually('the lag to count all events', async () => (await lag('events')) === before + 40)
  expect(await lag('seconds')).toBeGreaterThan(0)
  await reader.cancel()
  await eventually('a lag of 0', async () => (await lag('events')) === 0)
})
