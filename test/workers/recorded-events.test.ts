import { deleteAndPurge, eventually, faultsOf, holdTransaction, make, nilId, spawnService } from '../kit.ts'
import { upTo, workerActor } from '../kit.ts'
import { openEventScenes } from './events-scene.ts'

const open = openEventScenes()

/** Creates projects with these numbers of tasks, and as many for the other kind of events, which then happen. */
const happenIn = async ({ create }: Awaited<ReturnType<typeof open>>, ...counts: number[]) => {
  const all = ['timed', 'ready'].flatMap((kind) => counts.map((count) => create(kind, count)))
  const projects = await Promise.all(all)
  for (const { happen } of projects) await happen()
  return counts.map((_, n) => [projects[n]!, projects[n + counts.length]!] as const)
}

test('events are recorded once by workers that start later, even if no web process runs, but not of a deleted project or task', async () => {
  const scene = await open()
  const { forEach, service, ada, sql, recorded, untilRecorded } = scene
  const [first, deleted, second] = await happenIn(scene, 20, 2, 2)
  for (const { projectId } of deleted!) await ada.delete(`/projects/${projectId}`)
  for (const { ids } of second!) await ada.delete(`/tasks/${ids.shift()}`)
  for (const _ of upTo(2)) await forEach(spawnService('worker', service.env))
  await untilRecorded(...first!, ...second!)
  for (const one of deleted!) expect(await recorded(one)).toEqual([])
  expect(await sql`select from tasks where attempts = 1 and claimed_by is null`).toHaveLength(21)
})

test('events are recorded once by several workers without Redis', async () => {
  const scene = await open({ REDIS_URL: 'redis://127.0.0.1:9' })
  for (const _ of upTo(2)) scene.service.startWorkers()
  for (const count of [5, 1]) await scene.untilRecorded(...(await happenIn(scene, count))[0]!)
})

test('events are not delayed by projects whose commits wait for a lock', async () => {
  const scene = await open({ JOB_BATCH_ROWS: '3' })
  const { service, sql, recorded, untilRecorded } = scene
  const [slow] = await happenIn(scene, 20)
  const [other] = await happenIn(scene, 1)
  const ids = slow!.map(({ projectId }) => projectId)
  const release = await holdTransaction(
    service.services.database.reads,
    (tx) => tx`select from streams where project_id = any(${ids}::uuid[]) for update`,
  )
  service.startWorkers()
  await untilRecorded(...other!)
  for (const one of slow!) expect(await recorded(one)).toEqual([])
  await release()
  await untilRecorded(...slow!)
  expect(await faultsOf(sql)).toEqual([])
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
