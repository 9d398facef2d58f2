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
const { a, b, atA, atB, sql } = pair

test('without Redis, a long poll in another process gets events by polling the database', async () => {
  const { id: projectId } = await make(atA, '/projects', { name: 'Engine' })
  for (const seq of upTo(3)) {
    const answer = atB.get(`/projects/${projectId}/events?after=${seq}&wait=25`)
    const { id } = await make(atA, '/tasks', { title: 'Draw', projectId })
    expect((await answer).body).toMatchObject([{ entityId: id }])
  }
})

test('processes that started before Redis hand leases over and run jobs when Redis is there', async () => {
  await Bun.sleep(waitMs)
  await redis.restart()
  for (const { output } of [a, b, worker])
    await eventually('Redis to be available', () =>
      output.some((line) => line.includes('Redis is available again')),
    )
  const project = await make(atA, '/projects', { name: 'Shared' })
  for (const n of upTo(10))
    for (const user of [atA, atB]) await make(user, '/tasks', { title: `Task ${n}`, projectId: project.id })
  const { body } = await atB.get(`/tasks?projectId=${project.id}`)
  expect(body.map(({ number }) => number)).toEqual(upTo(20))
  await deleteAndPurge(atA, sql, project.id)
})
