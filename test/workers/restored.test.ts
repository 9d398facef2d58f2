import { type Body, faultsOf, holdTransaction, make, openScene, purgeTask, untilBlocked } from '../kit.ts'

const throttle = { batchRows: 3, pauseMs: 0 }
const { service, ada } = await openScene(['Ada'], { LOCK_TIMEOUT_MS: '30000' })
const sql = () => service.services.database.reads

/** A deleted task with eight comments and a subtask, the data of its purge job, and its undo. */
async function deletedTask() {
  const { id: projectId } = await make(ada, '/projects', { name: 'P' })
  const { id } = await make(ada, '/tasks', { title: 'T', projectId })
  await make(ada, `/tasks/${id}/subtasks`, { title: 'S' })
  for (let n = 0; n < 8; n++) await make(ada, `/tasks/${id}/comments`, { text: `C${n}` })
  await ada.delete(`/tasks/${id}`)
  const [job] = await sql()<{ data: { taskId: string; eventId: string } }[]>`
    select data from outbox where project_id = ${projectId}`
  const undo = async () =>
    expect((await ada.post(`/projects/${projectId}/undo`, { seq: 12 })).status).toBe(200)
  return { id, projectId, data: job!.data, undo }
}
const childrenOf = async (id: string) => {
  const lists = await Promise.all(['subtasks', 'comments'].map((list) => ada.get(`/tasks/${id}/${list}`)))
  return lists.map(({ body }) => body.map((one: Body) => one.title ?? one.text))
}
const all = [['S'], ['C0', 'C1', 'C2', 'C3', 'C4', 'C5', 'C6', 'C7']]

test('the purge job of an undone deletion deletes no restored children, even if the job also ran before the undo', async () => {
  const before = await deletedTask()
  await before.undo()
  await purgeTask(sql(), before.data, throttle)
  expect(await childrenOf(before.id)).toEqual(all)
  const after = await deletedTask()
  await purgeTask(sql(), after.data, throttle)
  await after.undo()
  await purgeTask(sql(), after.data, throttle)
  expect(await childrenOf(after.id)).toEqual(all)
  expect(await faultsOf(sql())).toEqual([])
})

test('a purge job of an earlier release, which names no event, does not delete restored children', async () => {
  const { id, data, undo } = await deletedTask()
  await undo()
  await purgeTask(sql(), { taskId: data.taskId }, throttle)
  expect(await childrenOf(id)).toEqual(all)
})

test('a purge job that waits for the lock of a restored row does not delete the row', async () => {
  const { id, data, undo } = await deletedTask()
  // Locks the first comment, like the commit of an undo.
  const release = await holdTransaction(
    service.services.database.background,
    (tx) => tx`select from comments where task_id = ${id} order by id limit 1 for update`,
  )
  const undone = undo()
  await untilBlocked(sql())
  const purged = purgeTask(service.services.database.background, data, throttle)
  await untilBlocked(sql(), 2)
  await Promise.all([release(), undone, purged])
  expect(await childrenOf(id)).toEqual(all)
  expect(await faultsOf(sql())).toEqual([])
})

test('concurrent purge jobs and undos of many tasks leave all children', async () => {
  const tasks = await Promise.all(Array.from({ length: 12 }, deletedTask))
  await Promise.all(
    tasks.flatMap(({ data, undo }) => [
      undo(),
      purgeTask(service.services.database.background, data, throttle),
      purgeTask(sql(), data, throttle),
    ]),
  )
  for (const { id } of tasks) expect(await childrenOf(id)).toEqual(all)
  expect(await faultsOf(sql())).toEqual([])
})
