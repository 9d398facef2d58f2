// Runs in a copy of the project that has the new entities: see copy.deep.test.ts.
import { faultsOf, readFeed, versionOf } from '../kit.ts'
import { rowsBesideSearch, untilOutboxEmpty } from '../workers/remains.ts'
import { ada, batch, createPlace, created, errorOf, type Place, readTask } from './scene.ts'
import { type Row, rowsAt, sql, undo } from './scene.ts'

const tagIn = async ({ projectId }: Place, name: string) =>
  (await created(`/projects/${projectId}/tags`, { name })).id

/** A task and its work log, which both have two tags. */
async function createTagged() {
  const place = await createPlace()
  const [red, blue] = [await tagIn(place, 'red'), await tagIn(place, 'blue')]
  const both = { tagIds: [red, blue] }
  await ada.patch(`/tasks/${place.taskId}`, both)
  const path = `/tasks/${place.taskId}/work_logs`
  const log = await created(path, { remark: 'Plan', hours: 1, kind: 'ONSITE', ...both, mainTagId: red })
  const shown = async (query = '') => {
    const { tagIds } = (await ada.get(`/tasks/${place.taskId}${query}`)).body as Row
    const [one] = await rowsAt(path + query)
    return [tagIds, one?.tagIds, one?.mainTagId]
  }
  return { ...place, place, red, blue, log, path, shown }
}

test('a tag must be in the project, and may be the name of a tag of the same batch', async () => {
  const { place, taskId, blue, log } = await createTagged()
  const foreign = await tagIn(await createPlace(), 'red')
  const message = 'tagIds must be the ids of tags in the project'
  for (const id of [foreign, taskId]) {
    expect(errorOf(await ada.patch(`/tasks/${taskId}`, { tagIds: [id] }))).toEqual([400, message])
    const main = await ada.patch(`/tasks/work_logs/${log.id}`, { mainTagId: id })
    expect(errorOf(main)).toEqual([400, 'mainTagId must be the id of a tag in the project'])
  }
  const update = { op: 'task.update', id: taskId, tagIds: [foreign] }
  expect(errorOf(await batch(place, [update]))).toEqual([400, `operations[0]: ${message}`])
  const create = { op: 'tag.create', as: 'green', name: 'green' }
  const { status } = await batch(place, [create, { ...update, tagIds: ['#green', blue.toUpperCase()] }])
  const green = (await rowsAt(`/projects/${place.projectId}/tags`)).at(-1)!.id
  expect([status, (await readTask(taskId)).tagIds]).toEqual([200, [green, blue]])
})

test('a deleted tag disappears immediately from every response, and an undo restores the tag', async () => {
  const { projectId, taskId, red, blue, shown } = await createTagged()
  const [both, one] = [
    [[red, blue], [red, blue], red],
    [[blue], [blue], null],
  ]
  const etag = (await ada.get(`/tasks/${taskId}`)).headers.get('etag')!
  const version = await versionOf(ada, projectId)
  await ada.delete(`/tags/${red}`)
  expect((await ada.get(`/tasks/${taskId}`, { 'if-none-match': etag })).status).toBe(200)
  const patched = await ada.patch(`/tasks/${taskId}`, { title: 'N' }, { 'if-match': etag })
  expect((patched.body as Row).tagIds).toEqual([blue])
  await undo(projectId, version + 1)
  const seen = await Promise.all(['', `?asOf=${version}`, `?asOf=${version + 1}`].map(shown))
  expect(seen).toEqual([both, both, one])
  expect(await faultsOf(sql)).toEqual([])
})

test('a task whose events are older than the field has no tags, in reads of the past and after an undo', async () => {
  const { projectId, taskId } = await createPlace()
  const task = await readTask(taskId)
  await ada.delete(`/tasks/${taskId}`)
  const names = ['tagIds', 'isPublic', 'estimate', 'startsAt']
  await sql`update events set before = before - ${names}::text[], after = after - ${names}::text[] where task_id = ${taskId}`
  const events = await readFeed(ada, `/projects/${projectId}/events?after=1`)
  expect(events).toMatchObject([{ after: task }, { before: task }])
  expect((await readTask(`${taskId}?asOf=2`)).tagIds).toEqual([])
  await undo(projectId, 3)
  expect((await readTask(taskId)).tagIds).toEqual([])
})

test('a move replaces tags by those of the same name, and moves children, which are deleted and restored with their task', async () => {
  const { taskId, log, path } = await createTagged()
  const target = await createPlace()
  const blue = await tagIn(target, 'blue')
  const { body } = await ada.patch(`/tasks/${taskId}`, { projectId: target.projectId })
  expect([(body as Row).tagIds, (await readTask(taskId)).tagIds]).toEqual([[blue], [blue]])
  const moved = [{ ...log, tagIds: [], mainTagId: null } as never]
  expect(await rowsAt(path)).toEqual(moved)
  const [event] = await rowsAt(`/projects/${target.projectId}/history?type=task.moved_in`)
  expect(event).toMatchObject({ after: { work_logs: [{ id: log.id }] } })
  await ada.delete(`/tasks/${taskId}`)
  const seq = await versionOf(ada, target.projectId)
  await untilOutboxEmpty(sql)
  expect(Object.keys(await rowsBesideSearch(sql, [log.id]))).toEqual(['events'])
  await undo(target.projectId, seq)
  expect(await rowsAt(path)).toEqual(moved)
  expect(await faultsOf(sql)).toEqual([])
})
