import { Redis } from 'ioredis'
import { eventually, forFile, freshRedis, newId, nilId, openForEach, sweep } from '../kit.ts'
import { openTestService, orphanSearches, queueOrphanJobs, register, upTo } from '../kit.ts'
import { createFullProject, flushRedis, outboxSize, rowsBesideSearch, rowsWith } from './remains.ts'
import { untilOutboxEmpty } from './remains.ts'
import { runAdmin } from './run-admin.ts'

const attempts = 3
const redis = await forFile(freshRedis())
const forEach = openForEach()

interface Row {
  id: string
  attempts: number
  error: string | null
  parkedAt: string | null
}

/** Opens a service and a project; the service has no workers yet. */
async function open() {
  await flushRedis(redis.url)
  const fast = { JOB_PAUSE_MS: '0', JOB_ATTEMPTS: String(attempts), SWEEP_EVERY_MS: '50' }
  const service = await forEach(openTestService({ ...fast, REDIS_URL: redis.url, LOG_LEVEL: 'silent' }))
  const ada = await register(service.client)
  const doomed = await createFullProject(ada, 4)
  const { reads: sql } = service.services.database
  const { queue } = service.services.jobs
  const row = async () => (await sql<Row[]>`select id, attempts, error, parked_at from outbox`)[0]
  const untilQueued = (count: number) =>
    eventually('the jobs in the queue', async () => (await queue.getJobCountByTypes()) === count)
  const allow = () => sql`drop trigger refuse on comments`
  return {
    ...{ service, ada, doomed, sql, queue, row, untilQueued, allow },
    admin: (...words: string[]) => runAdmin(service, 'jobs', ...words),
    remove: async (id = doomed.id) => expect((await ada.delete(`/projects/${id}`)).status).toBe(200),
    async untilPurged() {
      await untilOutboxEmpty(sql)
      expect(await rowsWith(sql, doomed.ids)).toEqual({})
    },
    /** Makes each deletion of comments fail. A sequence counts the attempts, because a rollback does not reset it. */
    async refuse() {
      await sql`create sequence tries minvalue 0`
      await sql`create function refuse() returns trigger language plpgsql as
        'begin perform nextval(''tries''); raise exception ''Not today''; end'`
      await sql`create trigger refuse before delete on comments for each statement execute function refuse()`
    },
    tries: async () => Number((await sql`select last_value from tries`)[0]!.lastValue) + 1,
    untilParked: () => eventually('a dead letter', async () => Boolean((await row())?.parkedAt)),
  }
}
type Scene = Awaited<ReturnType<typeof open>>

/** Faults of Redis and of workers before, during and after the deletion of a project. */
const losses: Record<string, (scene: Scene) => Promise<unknown>> = {
  'while Redis is unavailable': async ({ service, remove, sql }) => {
    service.startWorkers()
    redis.kill()
    await remove()
    expect(await outboxSize(sql)).toBe(1)
    await redis.restart()
  },
  'while Redis is unavailable, before a worker starts': async ({ service, remove }) => {
    await redis.stop()
    await remove()
    service.startWorkers()
    await redis.restart()
  },
  'and that Redis has lost': async ({ service, doomed, ada, remove, untilQueued }) => {
    await ada.delete(`/tasks/${doomed.taskIds[0]}`)
    await remove()
    await untilQueued(2)
    await flushRedis(redis.url)
    service.startWorkers()
  },
  'and that Redis loses while it runs': async ({ service, remove }) => {
    service.startWorkers()
    await remove()
    await flushRedis(redis.url)
  },
  'while the outbox cannot be read, and counts no attempt': async ({ service, sql, remove, untilQueued }) => {
    await remove()
    await untilQueued(1)
    await sql`alter table outbox rename to away`
    service.startWorkers()
    await untilQueued(0)
    expect(await sql`select attempts from away`).toEqual([{ attempts: 0 }] as never)
    await sql`alter table away rename to outbox`
  },
}

test.each(Object.keys(losses))('runs a job that is committed %s', async (what) => {
  const scene = await open()
  await losses[what]!(scene)
  await scene.untilPurged()
})

test('runs the job of the outbox row even if the job in Redis was changed, and ignores a job without an outbox row', async () => {
  const { service, ada, doomed, sql, queue, untilQueued } = await open()
  const { id: projectId, taskIds } = doomed
  await ada.delete(`/tasks/${taskIds[0]}`)
  await untilQueued(1)
  const [{ id }] = (await sql`select id from outbox`) as unknown as [{ id: string }]
  const client = new Redis(redis.url)
  const changed = JSON.stringify({ outboxId: id, projectId, data: { projectId } })
  await client.hset(queue.toKey(id), { name: 'purge-project', data: changed })
  client.disconnect()
  const opts = { removeOnComplete: true, removeOnFail: true }
  for (const jobId of [newId(), 'forged', nilId])
    await queue.add('purge-project', { projectId } as never, { ...opts, jobId })
  service.startWorkers()
  await untilOutboxEmpty(sql)
  await untilQueued(0)
  expect((await ada.get(`/tasks/${taskIds[1]}`)).status).toBe(200)
  expect(await rowsBesideSearch(sql, [taskIds[0]!])).toEqual({ events: 5 })
})

test('a failing job becomes a dead letter with its error after the last attempt, even if Redis loses the job', async () => {
  for (const isLost of [false, true]) {
    const { service, ada, sql, remove, refuse, untilParked, row, tries, untilQueued } = await open()
    await refuse()
    await remove()
    service.startWorkers()
    for (const n of upTo(isLost ? attempts - 1 : 0)) {
      await eventually(`try ${n}`, async () => (await row())!.attempts >= n)
      await flushRedis(redis.url)
    }
    await untilParked()
    // An attempt that was running when Redis lost the job may end only now.
    await eventually('the last try', async () => (await tries()) === attempts)
    expect(await row()).toMatchObject({ attempts, error: 'P0001: Not today' })
    if (isLost) continue
    await untilQueued(0)
    // Jobs after the dead letter still run.
    await remove((await createFullProject(ada, 0)).id)
    await eventually('the end of the other job', async () => (await outboxSize(sql)) === 1)
    expect(await sweep(sql, service.services.jobs)).toBe(0)
    expect(await tries()).toBe(attempts)
  }
})

test('an operator lists, retries and drops dead letters; an orphan gets a new job only after its dead letter is dropped', async () => {
  const { service, doomed, sql, remove, refuse, allow, tries, untilParked, untilPurged, row, admin } =
    await open()
  await refuse()
  await remove()
  const { id } = (await row())!
  for (const verb of ['retry', 'drop'])
    expect(await admin(verb, id)).toEqual({ code: 1, text: `No dead letter has the id ${id}` })
  service.startWorkers()
  await untilParked()
  const { code, text } = await admin()
  expect(code).toBe(0)
  for (const part of [id, 'purge-project', doomed.id, `${attempts} attempts`, 'Not today', '1 dead letter'])
    expect(text).toContain(part)
  const queueOrphans = () => queueOrphanJobs(sql, orphanSearches.streams, { batchRows: 1_000, pauseMs: 0 })
  await queueOrphans()
  expect(await outboxSize(sql)).toBe(1)
  expect(await admin('retry', id)).toEqual({ code: 0, text: '1 job will be retried' })
  await eventually('the retries', async () => (await tries()) === 2 * attempts)
  await untilParked()
  expect(await admin('drop', id)).toEqual({ code: 0, text: '1 job dropped' })
  expect(await outboxSize(sql)).toBe(0)
  await allow()
  await queueOrphans()
  await untilPurged()
})
