import { deleteAndPurge, eventually, forFile, freshRedis, make, openPair, spawnService } from '../kit.ts'
import { upTo } from '../kit.ts'

/** ioredis retries a command for 10.5 s (20 attempts). */
const waitMs = 12_000
const redis = await forFile(freshRedis())
await redis.stop()
// A lease lasts longer than the timeout of a write, so a write at the other process needs a handover.
const leases = { LEASE_TTL_MS: '60000', LEASE_LINGER_MS: '60000' }
const pair = await openPair({ REDIS_URL: redis.url, WRITE_SHARDS: '0', ...leases })
const worker = await forFile(spawnService('worker', pair.env))
await Bun.sleep(waitMs)
await redis.restart()
for (const { output } of [pair.a, pair.b, worker])
  await eventually('Redis to be available', () =>
    output.some((line) => line.includes('Redis is available again')),
  )

test('processes that started before Redis hand leases over', async () => {
  const { atA, atB } = pair
  const project = await make(atA, '/projects', { name: 'Shared' })
  for (const n of upTo(10))
    for (const user of [atA, atB]) await make(user, '/tasks', { title: `Task ${n}`, projectId: project.id })
  const { body } = await atB.get(`/tasks?projectId=${project.id}`)
  expect(body.map(({ number }) => number)).toEqual(upTo(20))
})

test('a worker that started before Redis runs jobs', async () => {
  const { atA, sql } = pair
  const project = await make(atA, '/projects', { name: 'Passing' })
  await deleteAndPurge(atA, sql, project.id)
})
