import { Redis } from 'ioredis'
import { eventually, forFile, freshRedis, newId, nilId, openSweep, openTestService } from '../kit.ts'
import { orphanStreams, queueOrphanJobs, register, spawnService, upTo } from '../kit.ts'
import type { Person, TestService } from '../kit.ts'
import { flushRedis, createFullProject, outboxSize, rowsBesideSearch, rowsWith } from './remains.ts'
import { untilOutboxEmpty } from './remains.ts'
import type { FullProject } from './remains.ts'

let service: TestService
let ada: Person
let doomed: FullProject
const sql = () => service.services.database.reads
const queued = (count = 1) =>
  eventually(
    'jobs in the queue',
    async () => (await service.services.jobs.queue.getJobCountByTypes('wait')) === count,
  )
const redis = await forFile(freshRedis())
beforeEach(async () => {
  service = await openTestService({ REDIS_URL: redis.url, JOB_PAUSE_MS: '0' })
  ada = await register(service.client)
  doomed = await createFullProject(ada, 4)
})
afterEach(() => service.close())

async function untilPurged(): Promise<void> {
  await untilOutboxEmpty(sql())
  expect(await rowsWith(sql(), doomed.ids)).toEqual({})
}

test('runs the job of the outbox row even if the job in Redis was changed', async () => {
  const { queue } = service.services.jobs
  const { id: projectId } = doomed
  const task = doomed.taskIds[0]!
  await ada.delete(`/tasks/${task}`)
  await queued()
  const [{ id }] = (await sql()`select id from outbox`) as unknown as [{ id: string }]
  const client = new Redis(redis.url)
  const data = JSON.stringify({ outboxId: id, projectId, data: { projectId } })
  await client.hset(queue.toKey(id), { name: 'purge-project', data })
  client.disconnect()
  service.startWorkers()
  await untilOutboxEmpty(sql())
  expect((await ada.get(`/projects/${projectId}/events`)).body).not.toEqual([])
  expect((await ada.get(`/tasks/${doomed.taskIds[1]}`)).status).toBe(200)
  expect(await rowsBesideSearch(sql(), [task])).toEqual({ events: 5 })
})

test('ignores a queued job without an outbox row', async () => {
  const { queue } = service.services.jobs
  const opts = { removeOnComplete: true, removeOnFail: true }
  for (const jobId of [newId(), 'forged', nilId])
    await queue.add('purge-project', { projectId: doomed.id } as never, { ...opts, jobId })
  service.startWorkers()
  await eventually('an empty queue', async () => (await queue.getJobCountByTypes()) === 0)
  expect((await ada.get(`/tasks/${doomed.taskIds[0]}`)).status).toBe(200)
})

test('runs a job of the outbox that was never queued', async () => {
  const taskId = doomed.taskIds[0]!
  await sql()`delete from tasks where id = ${taskId}`
  const data = JSON.stringify({ taskId })
  await sql()`insert into outbox (id, project_id, name, data, created_at)
    values (${newId()}, ${doomed.id}, 'purge-task', ${data}::text::jsonb, now() - interval '1 hour')`
  service.startWorkers()
  await untilOutboxEmpty(sql())
  expect(await rowsBesideSearch(sql(), [taskId])).toEqual({ events: 4 })
})

test('a job that is committed while Redis is unavailable runs when Redis is available again', async () => {
  service.startWorkers()
  redis.kill()
  expect((await ada.delete(`/projects/${doomed.id}`)).status).toBe(200)
  expect(await outboxSize(sql())).toBe(1)
  await redis.restart()
  await untilPurged()
})

test('runs jobs that Redis lost', async () => {
  await ada.delete(`/tasks/${doomed.taskIds[0]}`)
  await ada.delete(`/projects/${doomed.id}`)
  await queued(2)
  await flushRedis(redis.url)
  service.startWorkers()
  await untilPurged()
})

test('runs every job when Redis is flushed while jobs run', async () => {
  service.startWorkers()
  const more = await Promise.all(upTo(3).map(() => createFullProject(ada, 10)))
  for (const { id } of [doomed, ...more]) await ada.delete(`/projects/${id}`)
  await flushRedis(redis.url)
  await untilPurged()
  for (const { ids } of more) expect(await rowsWith(sql(), ids)).toEqual({})
})

test('the sweep of the outbox queues only jobs that are missing from the queue', async () => {
  const { jobs } = service.services
  for (const taskId of doomed.taskIds) await ada.delete(`/tasks/${taskId}`)
  await queued(4)
  const sweep = openSweep(sql(), jobs)
  expect(await sweep()).toBe(0)
  await flushRedis(redis.url)
  expect(await sweep()).toBe(4)
  expect(await sweep()).toBe(0)
  expect(await jobs.queue.getWaitingCount()).toBe(4)
})

test('the next sweep of the outbox continues where the previous sweep stopped', async () => {
  const { jobs } = service.services
  const backlog = 45
  await sql()`insert into outbox (id, project_id, name, data, created_at)
    select gen_random_uuid(), null, 'purge-task', '{}', now() from generate_series(1, ${backlog}::int)`
  const sweep = openSweep(sql(), jobs, { pageRows: 10, pages: 3 })
  await jobs.queue.waitUntilReady()
  expect(await sweep()).toBe(30)
  expect(await sweep()).toBe(15)
  expect([await sweep(), await sweep(), await sweep()]).toEqual([0, 0, 0])
  expect(await jobs.queue.getWaitingCount()).toBe(backlog)
})

test('a worker that starts while Redis is unavailable runs jobs when Redis is available again', async () => {
  await redis.stop()
  const worker = await spawnService('worker', service.env)
  try {
    await ada.delete(`/projects/${doomed.id}`)
    await redis.restart()
    await untilPurged()
  } finally {
    expect(await worker.stop()).toBe(0)
  }
})

test('if the outbox cannot be read, no attempt is counted, and the job runs later', async () => {
  const { queue } = service.services.jobs
  await ada.delete(`/projects/${doomed.id}`)
  await queued()
  await sql()`alter table outbox rename to away`
  service.startWorkers()
  await eventually('an empty queue', async () => (await queue.getJobCountByTypes()) === 0)
  expect((await sql()`select attempts from away`)[0]).toEqual({ attempts: 0 })
  await sql()`alter table away rename to outbox`
  await untilPurged()
})

test('two concurrent workers together run every job', async () => {
  const more = await Promise.all(upTo(20).map(() => createFullProject(ada, 1)))
  service.startWorkers()
  service.startWorkers()
  await Promise.all([doomed, ...more].map(({ id }) => ada.delete(`/projects/${id}`)))
  await untilPurged()
  for (const { ids } of more) expect(await rowsWith(sql(), ids)).toEqual({})
})

const cleanup = async () => (await queueOrphanJobs(sql(), orphanStreams, nilId, 1_000)).queued

test('queues one purge job for a stream whose project is deleted', async () => {
  await ada.delete(`/projects/${doomed.id}`)
  await sql()`delete from outbox`
  expect(await cleanup()).toBe(1)
  expect(await cleanup()).toBe(0)
  service.startWorkers()
  await untilPurged()
  expect(await cleanup()).toBe(0)
})
