import { expect, test } from 'bun:test'
import { AggregatorRegistry } from 'prom-client'
import { createApp } from '../../src/app.ts'
import { serviceFamilies } from '../../src/process/families.ts'
import { eventually, upTo } from '../races/pair.ts'
import { make, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'

const service = await forFile(openTestService())
const ada = await register(service.client)

/** A metric of streams, as a scrape shows it now. */
async function scraped(name: string): Promise<number> {
  const text = await AggregatorRegistry.aggregate([serviceFamilies(service.services)]).metrics()
  return Number(new RegExp(`^docket_${name}\\{follower="stream"\\} (.+)$`, 'm').exec(text)?.[1])
}

/** Opens the stream of a project and reads nothing after its beginning. */
async function openBlocked(projectId: string) {
  const path = `http://localhost/api/v1/projects/${projectId}/events`
  const headers = { authorization: `Bearer ${ada.token}`, accept: 'text/event-stream' }
  const { status, body } = await createApp(service.services).fetch(new Request(path, { headers }))
  expect(status).toBe(200)
  const reader = body!.getReader()
  await reader.read()
  return reader
}

test('the lag of a stream whose reader is blocked grows with every event', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Followed' })
  const reader = await openBlocked(projectId)
  const create = (n: number) => make(ada, '/tasks', { title: `T ${n}`, projectId })
  for (const n of upTo(10)) await create(n)
  await eventually('a first lag', async () => (await scraped('follower_lag_events')) > 0)
  const before = await scraped('follower_lag_events')
  for (const n of upTo(40)) await create(n)
  await eventually(
    'the lag to count all events',
    async () => (await scraped('follower_lag_events')) === before + 40,
  )
  expect(await scraped('follower_lag_seconds')).toBeGreaterThan(0)
  await reader.cancel()
  await eventually('no stream to be behind', async () => (await scraped('follower_lag_events')) === 0)
})
