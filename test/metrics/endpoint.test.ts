import { eventually, forFile, freshEnv, make, openClient, register, spawnService } from '../kit.ts'
import { startOnOwnPort } from '../support/own-port.ts'
import { scrape } from './scrape.ts'

const fresh = await forFile(freshEnv())
const { port, started: service } = await startOnOwnPort((port) =>
  forFile(spawnService('start', { ...fresh.env, METRICS_PORT: String(port) })),
)
const nobody = openClient(service.url)
const ada = await register(nobody)
const projectId = (await make(ada, '/projects', { name: 'Measured' })).id

const requests = (method: string, route: string, status: number) =>
  `docket_http_requests_total{method="${method}",route="${route}",status="${status}"}`

test('counts and times requests by route template, errors included', async () => {
  const before = await scrape(port)
  const { id } = await make(ada, '/tasks', { title: 'T', projectId })
  for (const _ of [1, 2, 3]) await ada.get(`/tasks/${id}`)
  await ada.get('/tasks/none')
  await nobody.get('/tasks')
  await nobody.post('/auth/login', { email: 'nobody@example.com', password: 'wrong-1' })
  await ada.call('PUT', `/tasks/${id}`)
  await ada.get('/elsewhere')
  const after = await scrape(port)
  const increase = (series: string) => (after.of(series) ?? 0) - (before.of(series) ?? 0)
  expect(increase(requests('POST', '/api/v1/tasks', 201))).toBe(1)
  expect(increase(requests('GET', '/api/v1/tasks/:id', 200))).toBe(3)
  expect(increase(requests('GET', '/api/v1/tasks/:id', 404))).toBe(1)
  expect(increase(requests('GET', '/api/v1/tasks', 401))).toBe(1)
  expect(increase(requests('POST', '/api/v1/auth/login', 401))).toBe(1)
  expect(increase(requests('PUT', 'none', 405))).toBe(1)
  expect(increase(requests('GET', 'none', 404))).toBe(1)
  const timed = 'docket_http_request_duration_seconds'
  const gets = 'method="GET",route="/api/v1/tasks/:id",status="200"'
  expect(after.of(`${timed}_count{${gets}}`)).toBe(3)
  expect(after.of(`${timed}_bucket{${gets},le="+Inf"}`)).toBe(3)
  const seconds = after.of(`${timed}_sum{${gets}}`)!
  expect(seconds > 0 && seconds < 30).toBe(true)
  for (const own of [id, projectId, ada.id, 'elsewhere']) expect(after.text).not.toContain(own)
})

test('reports commits, cache lookups and queries', async () => {
  const before = await scrape(port)
  for (const n of [1, 2, 3, 4]) await make(ada, '/tasks', { title: `T ${n}`, projectId })
  const path = `/tasks?projectId=${projectId}`
  for (const _ of [1, 2, 3]) await ada.get(path)
  const after = await scrape(port)
  const increase = (series: string) => (after.of(series) ?? 0) - (before.of(series) ?? 0)
  expect(increase('docket_commit_duration_seconds_count')).toBe(4)
  expect(increase('docket_commit_size_events_sum')).toBe(4)
  expect(increase('docket_commit_units_total{outcome="won"}')).toBe(4)
  expect(increase('docket_cache_requests_total{cache="bodies",result="hit"}')).toBe(2)
  expect(increase('docket_cache_requests_total{cache="bodies",result="miss"}')).toBe(1)
  expect(increase('docket_postgres_query_duration_seconds_count{pool="commits"}')).toBe(4)
  expect(increase('docket_pool_wait_seconds_count{pool="commits"}')).toBe(4)
  expect(increase('docket_pool_wait_seconds_count{pool="reads"}')).toBeGreaterThan(0)
  expect(after.of('docket_waiting_commands')).toBe(0)
  expect(after.of('docket_process_resident_memory_bytes')!).toBeGreaterThan(1e7)
  expect(after.of('docket_event_loop_delay_seconds_count')!).toBeGreaterThan(0)
})

test('counts open streams, and stops counting closed ones', async () => {
  const end = new AbortController()
  const headers = { authorization: `Bearer ${ada.token}`, accept: 'text/event-stream' }
  const url = `${service.url}/api/v1/projects/${projectId}/events`
  const stream = await fetch(url, { headers, signal: end.signal })
  const reader = stream.body!.getReader()
  await reader.read()
  const open = await scrape(port)
  expect([open.of('docket_streams_open'), open.of('docket_followers_open')]).toEqual([1, 1])
  expect(open.of('docket_follower_lag_events{follower="stream"}')).toBe(0)
  end.abort()
  await eventually('the end of the stream', async () => (await scrape(port)).of('docket_streams_open') === 0)
  expect((await scrape(port)).of('docket_followers_open')).toBe(0)
})

test('the metrics port serves only /metrics, and the API port does not serve it', async () => {
  for (const path of ['/', '/metrics/more', '/api/v1/projects'])
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(404)
  expect((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status).toBe(404)
  expect((await fetch(`${service.url}/metrics`)).status).toBe(404)
})
