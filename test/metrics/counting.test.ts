import { expect, test } from 'bun:test'
import { AggregatorRegistry } from 'prom-client'
import { Lags } from '../../src/subscriptions/lags.ts'
import { Distribution } from '../../src/metrics/distribution.ts'
import { counter, gauge, histogram, withProcessLabel } from '../../src/metrics/family.ts'
import { RequestDurations } from '../../src/metrics/requests.ts'

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
