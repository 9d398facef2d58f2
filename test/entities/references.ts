// Runs in a copy of the project that has the new entities: see copy.deep.test.ts.
import { newId } from '../../src/ids.ts'
import { readFeed } from '../http/feed.ts'
import { faultsOf } from '../support/history.ts'
import { rowsBesideSearch, untilOutboxEmpty } from '../workers/remains.ts'
import { ada, batch, createPlace, created, errorOf, type Place, readTask } from './scene.ts'
import { type Row, rowsAt, sql, undo } from './scene.ts'
import { versionOf } from '../support/client.ts'

const tagIn = async ({ projectId }: Place, name: string) =>
  (await created(`/projects/${projectId}/tags`, { name })).id

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

test('rejects the id of a tag outside the project with 400 and names the field', async () => {
  const { place, taskId, projectId, log } = await createTagged()
  const foreign = await tagIn(await createPlace(), 'red')
  const message = 'tagIds must be the ids of tags in the project'
  for (const id of [foreign, newId(), taskId]) {
    expect(errorOf(await ada.patch(`/tasks/${taskId}`, { tagIds: [id] }))).toEqual([400, message])
    expect(errorOf(await ada.post('/tasks', { projectId, title: 'N', tagIds: [id] }))).toEqual([400, message])
    const main = await ada.patch(`/tasks/work_logs/${log.id}`, { mainTagId: id })
    expect(errorOf(main)).toEqual([400, 'mainTagId must be the id of a tag in the project'])
  }
  const batched = await batch(place, [{ op: 'task.update', id: taskId, tagIds: [foreign] }])
  expect(errorOf(batched)).toEqual([400, `operations[0]: ${message}`])
})

test('a batch may refer by name to a tag that it creates', async () => {
  const { place, projectId, taskId, blue } = await createTagged()
  const operations = [
    { op: 'tag.create', as: 'green', name: 'green' },
    { op: 'task.update', id: taskId, tagIds: ['#green', blue.toUpperCase()] },
  ]
  const { status, text } = await batch(place, operations)
  expect([status, text]).toEqual([200, text])
  const green = (await rowsAt(`/projects/${projectId}/tags`)).at(-1)!.id
  expect((await readTask(taskId)).tagIds).toEqual([green, blue])
})

test('a deleted tag disappears immediately from every response, and an undo restores the tag', async () => {
  const { projectId, taskId, red, blue, shown } = await createTagged()
  const before = await ada.get(`/tasks/${taskId}`)
  expect(await shown()).toEqual([[red, blue], [red, blue], red])
  const version = await versionOf(ada, projectId)
  await ada.delete(`/tags/${red}`)
  expect(await versionOf(ada, projectId)).toBe(version + 1)
  expect(await shown()).toEqual([[blue], [blue], null])
  const after = await ada.get(`/tasks/${taskId}`, { 'if-none-match': before.headers.get('etag')! })
  expect(after.status).toBe(200)
  expect((await rowsAt(`/tasks?projectId=${projectId}`))[0]!.tagIds).toEqual([blue])
  const condition = { 'if-match': before.headers.get('etag')! }
  const patched = await ada.patch(`/tasks/${taskId}`, { title: 'N' }, condition)
  expect((patched.body as Row).tagIds).toEqual([blue])
  expect((await ada.get(`/tasks/${taskId}`)).headers.get('etag')).toBe(patched.headers.get('etag'))
  const unchanged = await ada.patch(`/tasks/${taskId}`, { tagIds: [blue] })
  expect(unchanged.headers.get('etag')).toBe(patched.headers.get('etag'))
  expect(errorOf(await ada.patch(`/tasks/${taskId}`, { tagIds: [red] }))[0]).toBe(400)
  expect(await shown(`?asOf=${version}`)).toEqual([[red, blue], [red, blue], red])
  expect(await shown(`?asOf=${version + 1}`)).toEqual([[blue], [blue], null])
  await undo(projectId, version + 1)
  expect(await shown()).toEqual([[red, blue], [red, blue], red])
  expect(await shown(`?asOf=${version + 2}`)).toEqual([[blue], [blue], null])
  expect(await faultsOf(sql)).toEqual([])
})

test("undoing a change of a task's tags does not show a tag that was deleted later", async () => {
  const { projectId, taskId, red, blue } = await createTagged()
  await ada.patch(`/tasks/${taskId}`, { tagIds: [] })
  const seq = await versionOf(ada, projectId)
  await ada.delete(`/tags/${red}`)
  await undo(projectId, seq)
  expect((await readTask(taskId)).tagIds).toEqual([blue])
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

test('a move replaces tags with those of the same name, drops the other tags, and moves children', async () => {
  const { taskId, log, path } = await createTagged()
  const target = await createPlace()
  const blue = await tagIn(target, 'blue')
  const { body } = await ada.patch(`/tasks/${taskId}`, { projectId: target.projectId })
  expect((body as Row).tagIds).toEqual([blue])
  expect((await readTask(taskId)).tagIds).toEqual([blue])
  expect(await rowsAt(path)).toEqual([{ ...log, tagIds: [], mainTagId: null } as never])
  const [moved] = await rowsAt(`/projects/${target.projectId}/history?type=task.moved_in`)
  expect(moved).toMatchObject({ after: { work_logs: [{ id: log.id }] } })
  expect(await faultsOf(sql)).toEqual([])
})

test('work logs are deleted and restored with their task', async () => {
  const { projectId, taskId, log, path } = await createTagged()
  await ada.delete(`/tasks/${taskId}`)
  const seq = await versionOf(ada, projectId)
  await untilOutboxEmpty(sql)
  expect(await rowsBesideSearch(sql, [log.id])).toEqual({ events: 1 })
  await undo(projectId, seq)
  expect(await rowsAt(path)).toEqual([log])
  expect(await faultsOf(sql)).toEqual([])
})
