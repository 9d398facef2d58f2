import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { openCounts } from '../../src/metrics/counts.ts'
import { jobFamilies } from '../../src/jobs/families.ts'
import { openProcessFamilies } from '../../src/metrics/process-families.ts'
import { serviceFamilies } from '../../src/process/families.ts'
import { forFile, openTestService } from '../support/service.ts'
import { timeFamilies } from '../../workers/timed-events/families.ts'
import { webhookFamilies } from '../../workers/webhooks/families.ts'
import { alerts, dashboard, targets } from './watched.ts'
import { words } from '../support/words.ts'

const labelsByMetric = new Map<string, string[]>()
const service = await forFile(openTestService({ METRICS_PORT: '1' }))
await service.client.get('/auth/me')
const { services } = service
const { background } = services.database
const jobs = [
  ...(await jobFamilies(background)),
  ...(await webhookFamilies(background)),
  ...(await timeFamilies(background)),
]
for (const { name, type, values } of [...openProcessFamilies()(), ...serviceFamilies(services), ...jobs]) {
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
  const seldom = words(
    'docket_postgres_connections docket_postgres_queries_open docket_actors docket_leases_held',
  )
  const unseen = families.filter((name) => !text.includes(name) && !seldom.includes(name))
  expect(unseen).toEqual(['docket_process_heap_bytes'])
})

test('no label grows with the number of users or projects', () => {
  const labels = new Set([...labelsByMetric.values()].flat())
  const few = words('method route status le outcome cache result pool batch follower mode state')
  expect([...labels].filter((label) => !few.includes(label))).toEqual([])
  expect(openCounts().requests.all()).toEqual([])
})
