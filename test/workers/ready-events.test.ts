import { deleteAndPurge, eventually, faultsOf, freshRedis, holdTransaction, make, nilId } from '../kit.ts'
import { openForEach, openTestService, register, runBatch, spawnService, upTo } from '../kit.ts'
import { recordReady } from '../../modules/work-queue/ready-events.ts'
import { serviceActor } from '../../src/model/events.ts'

const forEach = openForEach()

async function open(env: Record<string, string> = {}) {
  const service = await forEach(openTestService(env))
  const ada = await register(service.client)
  const sql = service.services.database.background
  const done = (id: string) => ada.patch(`/tasks/${id}`, { status: 'DONE' })
  return {
    ...{ service, ada, sql, done },
    /** Creates a project with a task that blocks others. */
    async createBlocked(tasks: number) {
      const { id: projectId } = await make(ada, '/projects', { name: 'Blocked' })
      const { id: blocker } = await make(ada, '/tasks', { projectId, title: 'Blocker' })
      const ids: string[] = []
      for (let left = tasks; left > 0; left -= 500) {
        const operations = upTo(Math.min(left, 500)).map((n) => {
          return { op: 'task.create', title: `T${n}`, blockedByIds: [blocker] }
        })
        ids.push(...(await runBatch(ada, projectId, operations)).map(({ id }) => id))
      }
      return { projectId, blocker, ids: ids.sort() }
    },
    ready: async (projectId: string) =>
      (
        await sql<{ id: string }[]>`
        select entity_id as id from events where project_id = ${projectId} and type = 'task.ready' order by entity_id`
      ).map(({ id }) => id),
  }
}

test('many dependants are recorded in bounded commits, and delay no other project', async () => {
  const { service, sql, done, createBlocked, ready } = await open({
    JOB_BATCH_ROWS: '20',
    JOB_PAUSE_MS: '20',
  })
  const [many, one] = [await createBlocked(1_000), await createBlocked(1)]
  await done(many.blocker)
  service.startWorkers()
  await eventually('the first events', async () => (await ready(many.projectId)).length > 0)
  await done(one.blocker)
  await eventually('all events', async () => (await ready(many.projectId)).length >= 1_000)
  expect(await ready(many.projectId)).toEqual(many.ids)
  expect(await ready(one.projectId)).toEqual(one.ids)
  const [{ isEarly } = {}] = await sql<{ isEarly: boolean }[]>`
    select min(at) < (select max(at) from events where project_id = ${many.projectId}) as is_early
    from events where project_id = ${one.projectId} and type = 'task.ready'`
  expect(isEarly).toBe(true)
  const sizes = await sql<{ count: number }[]>`
    select count(*)::int4 as count from events where project_id = ${many.projectId} and type = 'task.ready' group by at`
  expect(Math.max(...sizes.map(({ count }) => count))).toBeLessThanOrEqual(20)
  expect(await faultsOf(sql)).toEqual([])
})

test('a worker that starts later records the missed events once, even if the task became ready twice', async () => {
  const { service, ada, done, createBlocked, ready } = await open()
  const [first, second] = [await createBlocked(20), await createBlocked(1)]
  await done(first.blocker)
  await ada.patch(`/tasks/${first.blocker}`, { status: 'TODO' })
  await done(first.blocker)
  await done(second.blocker)
  await ada.patch(`/tasks/${second.blocker}`, { status: 'TODO' })
  const third = await createBlocked(1)
  await done(third.blocker)
  for (const _ of upTo(2)) await forEach(spawnService('worker', service.env))
  await eventually('the last event', async () => (await ready(third.projectId)).length > 0)
  await eventually('the other events', async () => (await ready(first.projectId)).length >= 20)
  expect(await ready(first.projectId)).toEqual(first.ids)
  expect(await ready(second.projectId)).toEqual([])
})

test('events are recorded once by several workers without Redis', async () => {
  const redis = await forEach(freshRedis())
  const { service, done, createBlocked, ready } = await open({ REDIS_URL: redis.url })
  service.startWorkers()
  service.startWorkers()
  await redis.stop()
  const { projectId, blocker, ids } = await createBlocked(5)
  await done(blocker)
  await eventually('the events', async () => (await ready(projectId)).length >= 5)
  const next = await createBlocked(1)
  await done(next.blocker)
  await eventually('the event of the next project', async () => (await ready(next.projectId)).length > 0)
  expect(await ready(projectId)).toEqual(ids)
})

test('a project whose commits wait for a lock delays no other project', async () => {
  const { service, sql, done, createBlocked, ready } = await open()
  const [slow, other] = [await createBlocked(3), await createBlocked(1)]
  await done(slow.blocker)
  const release = await holdTransaction(
    service.services.database.reads,
    (tx) => tx`select from streams where project_id = ${slow.projectId} for update`,
  )
  service.startWorkers()
  await done(other.blocker)
  await eventually('the other event', async () => (await ready(other.projectId)).length > 0)
  expect(await ready(slow.projectId)).toEqual([])
  await release()
  await eventually('the events', async () => (await ready(slow.projectId)).length >= 3)
  expect(await ready(slow.projectId)).toEqual(slow.ids)
  expect(await faultsOf(sql)).toEqual([])
})

test('a cursor ahead of its project is set back, and the cursor of a deleted project is deleted', async () => {
  const { service, ada, sql, done, createBlocked, ready } = await open()
  const { projectId, blocker, ids } = await createBlocked(1)
  await sql`insert into ready_cursors values (${projectId}, 1000000)`
  const cursors = async () =>
    await sql<{ seq: number }[]>`
    select seq::float8 as seq from ready_cursors where project_id = ${projectId}`
  service.startWorkers()
  await eventually('the end of the log', async () => (await cursors())[0]!.seq < 1_000)
  await done(blocker)
  await eventually('the event', async () => (await ready(projectId)).length > 0)
  expect(await ready(projectId)).toEqual(ids)
  await deleteAndPurge(ada, sql, projectId)
  expect(await cursors()).toHaveLength(0)
})

test('the command checks each task again when it commits', async () => {
  const { service, ada, done, createBlocked, ready } = await open()
  const { projectId, blocker, ids } = await createBlocked(5)
  const [claimed, closed, blocked, deleted, free] = ids as [string, string, string, string, string]
  await done(blocker)
  await ada.post(`/tasks/${claimed}/claim`, { leaseSeconds: 600 })
  await done(closed)
  const { id } = await make(ada, '/tasks', { projectId, title: 'Another blocker' })
  await ada.patch(`/tasks/${blocked}`, { addBlockedByIds: [id] })
  await ada.delete(`/tasks/${deleted}`)
  const input = { projectId, tasks: ids.map((id) => ({ id, eventId: nilId })) }
  const record = () =>
    service.services.run({ name: recordReady.name, input, caller: { userId: serviceActor } })
  await Promise.all(upTo(3).map(record))
  expect(await ready(projectId)).toEqual([free])
})
