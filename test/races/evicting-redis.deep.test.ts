import { Redis } from 'ioredis'
import { eventually, faultsOf, forFile, freshEnv, freshRedis, isReplay, makeProjects } from '../kit.ts'
import { openTestService, register, upTo } from '../kit.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'

const server = await forFile(freshRedis())
const admin = new Redis(server.url)
await forFile({ close: () => admin.disconnect() })

test('a Redis that evicts keys at maxmemory loses no write and no job', async () => {
  const { env } = await forFile(freshEnv({ REDIS_URL: server.url, SWEEP_EVERY_MS: '200' }))
  const [a, b] = [await forFile(openTestService(env)), await forFile(openTestService(env))]
  const ada = await register(a.client)
  const both = [ada, { ...ada, ...b.client.as(ada.token) }]
  const sql = a.services.database.background
  for (const service of [a, b]) service.startWorkers()
  const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))![1])
  await admin.config('SET', 'maxmemory-policy', 'allkeys-random')
  await admin.config('SET', 'maxmemory', String(used + 16_000_000))
  let isRunning = true
  // Other keys push out those of the service: leases, jobs, counts and the list of processes.
  const filling = (async () => {
    for (let n = 0; isRunning; n++) await admin.set(`other-${n}`, 'x'.repeat(50_000)).catch(() => {})
  })()
  const projects = await makeProjects(ada, 6)
  for (let round = 0; round < 10; round++) {
    const writes = projects.flatMap((projectId, n) =>
      upTo(10).map((one) => {
        const key = { 'idempotency-key': `${projectId} ${round} ${one % 8}` }
        return both[(n + one) % 2]!.post('/tasks', { projectId, title: `T${one % 8}` }, key)
      }),
    )
    const answers = await Promise.all(writes)
    expect(answers.filter(({ status }) => status !== 201).map(({ text }) => text)).toEqual([])
    expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(8 * projects.length)
    const { body } = await ada.get(`/tasks?projectId=${projects[round % 5]}&limit=1`)
    expect((await ada.delete(`/tasks/${body[0]!.id}`)).status).toBe(200)
  }
  const [deleted, ...others] = projects
  expect((await ada.delete(`/projects/${deleted}`)).status).toBe(200)
  await untilOutboxEmpty(sql)
  const streams = () => sql`select from streams where project_id = ${deleted!}`
  await eventually('the purge of the project', async () => (await streams()).length === 0)
  isRunning = false
  await filling
  expect(Number(/evicted_keys:(\d+)/.exec(await admin.info('stats'))![1])).toBeGreaterThan(100)
  for (const id of others)
    expect((await ada.get(`/search?q=T1&projectId=${id}`)).body.length).toBeGreaterThan(0)
  expect(await faultsOf(sql)).toEqual([])
})
