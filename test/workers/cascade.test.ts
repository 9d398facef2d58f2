import { faultsOf, forFile, holdTransaction, make, newId, openTestService, purgeProject } from '../kit.ts'
import { purgeTask, register, untilBlocked } from '../kit.ts'
import { createFullProject, rowsBesideSearch, rowsWith, untilOutboxEmpty } from './remains.ts'

const sql = () => service.services.database.reads
const service = await forFile(openTestService({ JOB_BATCH_ROWS: '7', JOB_PAUSE_MS: '1' }))
service.startWorkers()
const ada = await register(service.client)

test('purging a deleted project deletes its rows in every table, and no row of another project', async () => {
  const [deleted, other] = [await createFullProject(ada, 20), await createFullProject(ada, 5)]
  const neighbour = await rowsBesideSearch(sql(), other.ids)
  const before = { tasks: 20, comments: 40, events: 81, streams: 1 }
  expect(await rowsWith(sql(), deleted.ids)).toMatchObject(before)
  expect((await ada.delete(`/projects/${deleted.id}`)).status).toBe(200)
  expect((await ada.get(`/tasks/${deleted.taskIds[0]}`)).status).toBe(404)
  await untilOutboxEmpty(sql())
  expect(await rowsWith(sql(), deleted.ids)).toEqual({})
  expect(await rowsBesideSearch(sql(), other.ids)).toEqual(neighbour)
  expect(await faultsOf(sql())).toEqual([])
})

test('purging a project also deletes its members, and the other pending jobs of the project succeed', async () => {
  const { id, taskIds, ids } = await createFullProject(ada, 3)
  const guest = await register(service.client)
  const invited = await ada.post(`/projects/${id}/members/invite`, { email: guest.email, role: 'EDITOR' })
  await ada.delete(`/projects/${id}/members/${invited.body.id}`)
  await ada.post(`/projects/${id}/members/invite`, { email: guest.email })
  await ada.delete(`/tasks/${taskIds[0]}`)
  await ada.delete(`/projects/${id}`)
  await untilOutboxEmpty(sql())
  expect(await rowsWith(sql(), [...ids, invited.body.id])).toEqual({})
})

test('purges neither an existing project nor an existing task', async () => {
  const other = await createFullProject(ada, 2)
  const before = await rowsBesideSearch(sql(), other.ids)
  const throttle = { batchRows: 7, pauseMs: 0 }
  await expect(purgeProject(sql(), other.id, throttle)).rejects.toThrow('still exists')
  await purgeTask(sql(), { taskId: other.taskIds[0] }, throttle)
  expect(await rowsBesideSearch(sql(), other.ids)).toEqual(before)
})

test('purging a deleted task deletes its subtasks and comments, and no other rows', async () => {
  const { id, taskIds } = await createFullProject(ada, 3)
  const [deleted, ...others] = taskIds as [string, ...string[]]
  for (let n = 0; n < 20; n++) await make(ada, `/tasks/${deleted}/comments`, { text: `More ${n}` })
  await ada.delete(`/tasks/${deleted}`)
  await untilOutboxEmpty(sql())
  expect(await rowsBesideSearch(sql(), [deleted])).toEqual({ events: 25 })
  expect(await rowsBesideSearch(sql(), others)).toMatchObject({ tasks: 2, subtasks: 2, comments: 4 })
  expect((await ada.get(`/projects/${id}`)).status).toBe(200)
  expect(await faultsOf(sql())).toEqual([])
})

test('purging the previous project of a moved task leaves the task unchanged', async () => {
  const [old, home] = [await createFullProject(ada, 1), await createFullProject(ada, 0)]
  const [moved] = old.taskIds as [string]
  await ada.patch(`/tasks/${moved}`, { projectId: home.id })
  await ada.delete(`/projects/${old.id}`)
  await untilOutboxEmpty(sql())
  expect(await rowsBesideSearch(sql(), [moved])).toEqual({ tasks: 1, subtasks: 1, comments: 2, events: 1 })
  expect((await ada.get(`/tasks/${moved}/comments`)).body).toHaveLength(2)
})

test('repeated and concurrent purges delete no other rows', async () => {
  const [deleted, other] = [await createFullProject(ada, 6), await createFullProject(ada, 2)]
  const neighbour = await rowsBesideSearch(sql(), other.ids)
  await ada.delete(`/tasks/${deleted.taskIds[0]}`)
  await ada.delete(`/projects/${deleted.id}`)
  const throttle = { batchRows: 3, pauseMs: 0 }
  const again = () => [
    purgeProject(sql(), deleted.id, throttle),
    purgeTask(sql(), { taskId: deleted.taskIds[0]! }, throttle),
  ]
  await Promise.all([...again(), ...again()])
  await untilOutboxEmpty(sql())
  await Promise.all(again())
  expect(await rowsWith(sql(), deleted.ids)).toEqual({})
  expect(await rowsBesideSearch(sql(), other.ids)).toEqual(neighbour)
})

test('a purge that waits for rows that another purge deletes continues with the remaining rows', async () => {
  const taskId = newId()
  await sql()`insert into comments (id, task_id, author_id, text, created_at, updated_at, event_id)
    select uuidv7(), ${taskId}, ${ada.id}, 'Left', now(), now(), uuidv7() from generate_series(1, 10)`
  const release = await holdTransaction(
    service.services.database.background,
    (tx) => tx`delete from comments where id in (
      select id from comments where task_id = ${taskId} order by id limit 2)`,
  )
  const purge = purgeTask(sql(), { taskId }, { batchRows: 3, pauseMs: 0 })
  await untilBlocked(sql())
  await Promise.all([release(), purge])
  expect(await rowsWith(sql(), [taskId])).toEqual({})
})

test('a paused purge does not delete the rows of a new task with the same id', async () => {
  const bea = await register(service.client)
  const old = await make(ada, '/projects', { name: 'Old' })
  const other = await make(bea, '/projects', { name: 'Other' })
  const id = newId()
  await make(ada, '/tasks', { id, title: 'Old', projectId: old.id })
  const [woken, frozen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = new Proxy(sql(), {
    apply(target, self, args: [TemplateStringsArray]) {
      // The purge runs as if the project was already deleted.
      if (args[0][0] === 'select id from projects where id = ') return []
      const query = Reflect.apply(target, self, args)
      if (!args[0][0]?.includes('with found as materialized (select id from ')) return query
      frozen.resolve()
      return woken.promise.then(() => query)
    },
  })
  const throttle = { batchRows: 2, pauseMs: 0 }
  const removal = purgeProject(slow, old.id, throttle)
  await frozen.promise
  expect((await ada.delete(`/projects/${old.id}`)).status).toBe(200)
  await untilOutboxEmpty(sql())
  await sql()`delete from idempotency_keys where scope = 'ids'`
  await make(bea, '/tasks', { id, title: 'New', projectId: other.id })
  await make(bea, `/tasks/${id}/comments`, { text: 'Precious' })
  woken.resolve()
  await removal
  expect((await bea.get(`/tasks/${id}/comments`)).body).toHaveLength(1)
})
