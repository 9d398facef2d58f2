import { deleteAndPurge, eventually, faultsOf, holdTransaction, make, nilId, spawnService } from '../kit.ts'
import { upTo, workerActor } from '../kit.ts'
import { openEventScenes } from './events-scene.ts'

const open = openEventScenes()

describe.each(['timed', 'ready'])('%s events', (kind) => {
  test('are recorded once by workers that start later, even if no web process runs, but not of a deleted project or task', async () => {
    const { forEach, service, ada, sql, create, recorded, untilRecorded } = await open()
    const [first, deleted, second] = [await create(kind, 20), await create(kind, 2), await create(kind, 2)]
    for (const one of [first, deleted, second]) await one.happen()
    await ada.delete(`/projects/${deleted.projectId}`)
    await ada.delete(`/tasks/${second.ids.shift()}`)
    for (const _ of upTo(2)) await forEach(spawnService('worker', service.env))
    await untilRecorded(first, second)
    expect(await recorded(deleted)).toEqual([])
    if (kind === 'timed')
      expect(await sql`select from tasks where attempts = 1 and claimed_by is null`).toHaveLength(21)
  })

  test('are recorded once by several workers without Redis', async () => {
    const scene = await open({ REDIS_URL: 'redis://127.0.0.1:9' })
    for (const _ of upTo(2)) scene.service.startWorkers()
    for (const tasks of [5, 1]) {
      const one = await scene.create(kind, tasks)
      await one.happen()
      await scene.untilRecorded(one)
    }
  })

  test('are not delayed by a project whose commits wait for a lock', async () => {
    const { service, sql, create, recorded, untilRecorded } = await open({ JOB_BATCH_ROWS: '3' })
    const [slow, other] = [await create(kind, 20), await create(kind, 1)]
    for (const one of [slow, other]) await one.happen()
    const release = await holdTransaction(
      service.services.database.reads,
      (tx) => tx`select from streams where project_id = ${slow.projectId} for update`,
    )
    service.startWorkers()
    await untilRecorded(other)
    expect(await recorded(slow)).toEqual([])
    await release()
    await untilRecorded(slow)
    expect(await faultsOf(sql)).toEqual([])
  })
})

test('many ready tasks are recorded in bounded commits, and delay no other project', async () => {
  const env = { JOB_BATCH_ROWS: '20', JOB_PAUSE_MS: '20' }
  const { service, sql, createBlocked, recorded, untilRecorded } = await open(env)
  const [many, one] = [await createBlocked(500), await createBlocked(1)]
  await many.happen()
  service.startWorkers()
  await eventually('the first events', async () => (await recorded(many)).length > 0)
  await one.happen()
  await untilRecorded(many, one)
  const [found] = await sql`
    select max(count) <= 20 as "isBounded", max(at) filter (where project_id = ${many.projectId})
      > max(at) filter (where project_id = ${one.projectId}) as "isEarly"
    from (select project_id, at, count(*) from events where type = 'task.ready' group by 1, 2) e`
  expect(found).toEqual({ isBounded: true, isEarly: true } as never)
})

test('a cursor ahead of its project is set back, and the cursor of a deleted project is deleted', async () => {
  const { service, ada, sql, createBlocked, untilRecorded } = await open()
  const one = await createBlocked(1)
  const { projectId } = one
  await sql`insert into ready_cursors values (${projectId}, 1000000)`
  const cursors = () => sql<{ seq: number }[]>`
    select seq::float8 as seq from ready_cursors where project_id = ${projectId}`
  service.startWorkers()
  await eventually('the end of the log', async () => (await cursors())[0]!.seq < 1_000)
  await one.happen()
  await untilRecorded(one)
  await deleteAndPurge(ada, sql, projectId)
  expect(await cursors()).toHaveLength(0)
})

test('a task that is not ready any more when the event is committed gets no event', async () => {
  const { service, ada, done, createBlocked, recorded } = await open()
  const one = await createBlocked(5)
  const { projectId, ids } = one
  const [claimed = '', closed = '', blocked, deleted, free] = ids
  await one.happen()
  await ada.post(`/tasks/${claimed}/claim`, { leaseSeconds: 600 })
  await done(closed)
  const { id } = await make(ada, '/tasks', { projectId, title: 'Another blocker' })
  await ada.patch(`/tasks/${blocked}`, { addBlockedByIds: [id] })
  await ada.delete(`/tasks/${deleted}`)
  const input = { projectId, tasks: ids.map((id) => ({ id, eventId: nilId })) }
  const caller = { userId: workerActor }
  await Promise.all(upTo(3).map(() => service.services.run({ name: 'task.record_ready', input, caller })))
  expect(await recorded(one)).toEqual([`task.ready ${free}`])
})
