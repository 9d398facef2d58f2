import { readFileSync } from 'node:fs'
import { AggregatorRegistry } from 'prom-client'
import { openCounts, RequestDurations } from '../../src/metrics/counts.ts'
import { Distribution, counter, gauge, histogram, withProcessLabel } from '../../src/metrics/family.ts'
import { collectFamilies, openProcessFamilies, serviceFamilies } from '../../src/process/metrics-server.ts'
import { Lags } from '../../src/subscriptions/subscriptions.ts'
import { workerFamilies } from '../../workers/metrics.ts'
import { forFile, openTestService, words } from '../kit.ts'
import { alerts, dashboard, targets } from './watched.ts'

const labelsByMetric = new Map<string, string[]>()
const service = await forFile(openTestService({ METRICS_PORT: '1' }))
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
