import { workerFamilies } from '../../workers/metrics.ts'
import { eventually, make, openScene, upTo } from '../kit.ts'
import { AggregatorRegistry } from 'prom-client'
import { createApp } from '../../src/app.ts'
import { collectFamilies, serviceFamilies } from '../../src/process/metrics-server.ts'

const { service, ada } = await openScene(['Ada'])

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
