import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { freshRedis } from '../support/redis.ts'
import { forFile, spawnService } from '../support/service.ts'
import { eventually, openPair, upTo, deleteWhole } from './pair.ts'

/** The drivers' patience with a command: 20 tries to connect, which take 10.5 s. */
const patienceMs = 12_000
const redis = await forFile(freshRedis())
await redis.stop()
// A lease that is not handed over is not to be had in the time that a write may take.
const pair = await forFile(
  openPair({
    REDIS_URL: redis.url,
    LEASE_TTL_MS: '60000',
    LEASE_LINGER_MS: '60000',
    WRITE_SHARDS: '0',
  }),
)
const worker = await forFile(spawnService('worker', pair.env))
await Bun.sleep(patienceMs)
await redis.restart()
for (const { output } of [pair.a, pair.b, worker])
  await eventually('Redis', () => output.some((line) => line.includes('Redis is available again')))

test('processes that started long before Redis hand a project to each other as others do', async () => {
  const { atA, atB } = pair
  const project = await make(atA, '/projects', { name: 'Shared' })
  for (const n of upTo(10))
    for (const who of [atA, atB]) await make(who, '/tasks', { title: `Task ${n}`, projectId: project.id })
  const { body } = await atB.get(`/tasks?projectId=${project.id}`)
  expect(body.map(({ number }) => number)).toEqual(upTo(20))
})

test('and a worker that did works', async () => {
  const { atA, sql } = pair
  const project = await make(atA, '/projects', { name: 'Passing' })
  await deleteWhole(atA, sql, project.id)
})
