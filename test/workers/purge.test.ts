import { type Body, faultsOf, forFile, holdTransaction, make, openTestService, purgeProject } from '../kit.ts'
import { purgeTask, register, untilBlocked, upTo } from '../kit.ts'
import { createFullProject, rowsBesideSearch, rowsWith, untilOutboxEmpty } from './remains.ts'

const env = { JOB_BATCH_ROWS: '7', JOB_PAUSE_MS: '1', LOCK_TIMEOUT_MS: '30000' }
const service = await forFile(openTestService(env))
const ada = await register(service.client)
const { reads: sql, background } = service.services.database
const throttle = { batchRows: 3, pauseMs: 0 }

/** A deleted task with eight comments and a subtask, the data of its purge job, and its undo. */
async function deletedTask() {
  const { id: projectId } = await make(ada, '/projects', { name: 'P' })
  const { id } = await make(ada, '/tasks', { title: 'T', projectId })
  await make(ada, `/tasks/${id}/subtasks`, { title: 'S' })
  for (const n of upTo(8)) await make(ada, `/tasks/${id}/comments`, { text: `C${n}` })
  await ada.delete(`/tasks/${id}`)
  const [job] = await sql<{ data: { taskId: string; eventId: string } }[]>`
    select data from outbox where project_id = ${projectId}`
  return {
    ...{ id, data: job!.data },
    purge: (data: object = job!.data) => purgeTask(background, data, throttle),
    undo: async () => expect((await ada.post(`/projects/${projectId}/undo`, { seq: 12 })).status).toBe(200),
  }
}

async function expectChildren(id: string): Promise<void> {
  const lists = await Promise.all(['subtasks', 'comments'].map((list) => ada.get(`/tasks/${id}/${list}`)))
  const texts = lists.map(({ body }) => body.map((one: Body) => one.title ?? one.text))
  expect(texts).toEqual([['S'], upTo(8).map((n) => `C${n}`)])
}

const orders: Record<string, (task: Awaited<ReturnType<typeof deletedTask>>) => Promise<unknown>> = {
  'runs before and after the undo': async ({ purge, undo }) => {
    await purge()
    await undo()
    await purge()
  },
  'of an earlier release, which names no event, runs after the undo': async ({ id, purge, undo }) => {
    await undo()
    await purge({ taskId: id })
  },
  'waits for the lock of a restored row': async ({ id, purge, undo }) => {
    // Locks the first comment, like the commit of an undo.
    const release = await holdTransaction(
      background,
      (tx) => tx`select from comments where task_id = ${id} order by id limit 1 for update`,
    )
    const undone = undo()
    await untilBlocked(sql)
    const purged = purge()
    await untilBlocked(sql, 2)
    await Promise.all([release(), undone, purged])
  },
}

test.each(Object.keys(orders))('a purge job deletes no restored child of a task if it %s', async (order) => {
  const task = await deletedTask()
  await orders[order]!(task)
  await expectChildren(task.id)
  expect(await faultsOf(sql)).toEqual([])
})

test('concurrent purge jobs and undos of many tasks leave all children', async () => {
  const tasks = await Promise.all(upTo(8).map(deletedTask))
  await Promise.all(tasks.flatMap(({ undo, purge }) => [undo(), purge(), purge()]))
  for (const { id } of tasks) await expectChildren(id)
  expect(await faultsOf(sql)).toEqual([])
})

test('purges neither an existing project nor an existing task', async () => {
  const other = await createFullProject(ada, 2)
  const before = await rowsBesideSearch(sql, other.ids)
  await expect(purgeProject(sql, other.id, throttle)).rejects.toThrow('still exists')
  await purgeTask(sql, { taskId: other.taskIds[0]! }, throttle)
  expect(await rowsBesideSearch(sql, other.ids)).toEqual(before)
})

test('a purge that waits for rows that another purge deletes continues with the remaining rows', async () => {
  const { id, purge } = await deletedTask()
  const release = await holdTransaction(
    background,
    (tx) =>
      tx`delete from comments where id in (select id from comments where task_id = ${id} order by id limit 2)`,
  )
  const purged = purge()
  await untilBlocked(sql)
  await Promise.all([release(), purged])
  expect(await sql`select from comments where task_id = ${id}`).toHaveLength(0)
})

test('purging a project deletes its documents of searches and its cursors', async () => {
  const { id, ids } = await createFullProject(ada, 2)
  expect((await ada.get(`/search?q=sub&projectId=${id}`)).headers.get('docket-indexed')).toBe('all')
  await ada.delete(`/projects/${id}`)
  await purgeProject(sql, id, throttle)
  expect(await rowsWith(sql, ids)).toEqual({ outbox: 1 })
})

test('the purge of a project changes names, and so the ETags of all, only if it deletes service accounts', async () => {
  const change = async () => (await sql`select change_id from people`)[0]?.changeId as string | undefined
  const purgeOne = async (accounts: number) => {
    const { id } = await make(ada, '/projects', { name: 'P' })
    for (const n of upTo(accounts)) await make(ada, `/projects/${id}/service-accounts`, { name: `A${n}` })
    await ada.delete(`/projects/${id}`)
    await purgeProject(background, id, throttle)
    expect(await sql`select from users where project_id = ${id}`).toHaveLength(0)
    return change()
  }
  const first = await purgeOne(4)
  expect(await purgeOne(0)).toBe(first!)
  expect(await purgeOne(1)).not.toBe(first!)
})

test('a purge also deletes a row that changes while the purge waits for it', async () => {
  const { id, purge } = await deletedTask()
  const release = await holdTransaction(
    background,
    (tx) =>
      tx`update comments set updated_at = now() where id in (select id from comments where task_id = ${id} order by id desc limit 1)`,
  )
  const purged = purge()
  await untilBlocked(sql)
  await Promise.all([release(), purged])
  expect(await sql`select from comments where task_id = ${id}`).toHaveLength(0)
})

// After this test, the workers keep running.
test('workers and concurrent purges delete the rows of a project in every table, and those of a task, but no other row', async () => {
  const [deleted, old] = [await createFullProject(ada, 20), await createFullProject(ada, 1)]
  const [other, partly] = [await createFullProject(ada, 5), await createFullProject(ada, 3)]
  const guest = await register(service.client)
  const members = `/projects/${deleted.id}/members`
  const { body: invited } = await ada.post(`${members}/invite`, { email: guest.email, role: 'EDITOR' })
  await ada.delete(`${members}/${invited.id}`)
  await ada.post(`${members}/invite`, { email: guest.email })
  const [[alone = ''], [moved = '']] = [deleted.taskIds, old.taskIds]
  await ada.patch(`/tasks/${moved}`, { projectId: other.id })
  const [gone = '', ...left] = partly.taskIds
  for (const n of upTo(20)) await make(ada, `/tasks/${gone}/comments`, { text: `More ${n}` })
  const neighbour = await rowsBesideSearch(sql, other.ids)
  for (const path of [`/tasks/${gone}`, `/tasks/${alone}`, `/projects/${deleted.id}`, `/projects/${old.id}`])
    expect((await ada.delete(path)).status).toBe(200)
  expect((await ada.get(`/tasks/${alone}`)).status).toBe(404)
  const again = () => [purgeProject(sql, deleted.id, throttle), purgeTask(sql, { taskId: alone }, throttle)]
  service.startWorkers()
  await Promise.all([...again(), ...again()])
  await untilOutboxEmpty(sql)
  await Promise.all(again())
  expect(await rowsWith(sql, [...deleted.ids, invited.id])).toEqual({})
  expect(await rowsBesideSearch(sql, [moved])).toMatchObject({ tasks: 1, subtasks: 1, comments: 2 })
  expect(await rowsBesideSearch(sql, other.ids)).toEqual(neighbour)
  expect(await rowsBesideSearch(sql, [gone])).toEqual({ events: 25 })
  expect(await rowsBesideSearch(sql, left)).toMatchObject({ tasks: 2, subtasks: 2, comments: 4 })
})

// This must be the last test, because its rows and events differ.
test('a paused purge of a project deletes nothing of a task that another project got meanwhile', async () => {
  const [old, other] = [await createFullProject(ada, 1), await createFullProject(ada, 0)]
  const [taskId = ''] = old.taskIds
  // The job deletes subtasks first, and waits for this one.
  const release = await holdTransaction(
    background,
    (tx) => tx`select from subtasks where task_id = ${taskId} for update`,
  )
  // As if the job had read the task before the move.
  await background`delete from projects where id = ${old.id}`
  const purge = purgeProject(sql, old.id, { batchRows: 1, pauseMs: 0 })
  await untilBlocked(sql)
  await background`update tasks set project_id = ${other.id} where id = ${taskId}`
  await Promise.all([release(), purge])
  expect(await rowsBesideSearch(sql, [taskId])).toMatchObject({ tasks: 1, comments: 2 })
})
