import { beforeEach, expect, test } from 'bun:test'
import { workerActor } from '../../workers/cascade.ts'
import { invite, make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { type FullProject, openScene } from './member-scene.ts'
import { untilOutboxEmpty } from './remains.ts'

let { guest, project, mine, remove, unassign, assignees } = {} as FullProject
const sql = () => scene.reads
const scene = await openScene()
const ada = scene.ada
beforeEach(
  async () => void ({ guest, project, mine, remove, unassign, assignees } = await scene.createFullProject()),
)

const unassigned = () => sql()<{ actorId: string }[]>`
  select actor_id from events where type = 'task.unassigned' and project_id = ${project.id}`

test('a member who is invited again before the unassign job runs keeps all assignments', async () => {
  await remove()
  await invite(ada, project.id, guest, 'VIEWER')
  await unassign()
  expect(await assignees()).toEqual(mine.map(() => guest.id))
  expect(await unassigned()).toHaveLength(0)
})

test('repeated and concurrent unassign jobs unassign each task once', async () => {
  await remove()
  await Promise.all([unassign(), unassign()])
  await unassign()
  expect(await assignees()).toEqual(mine.map(() => null))
  expect(await unassigned()).toHaveLength(8)
})

test('the unassign job does not change tasks that were reassigned after the removal', async () => {
  await remove()
  await ada.patch(`/tasks/${mine[0]!.id}`, { assigneeId: ada.id })
  await unassign()
  expect(await assignees()).toEqual([ada.id, ...mine.slice(1).map(() => null)])
})

test('the unassign job does nothing after the project is deleted', async () => {
  await remove()
  await ada.delete(`/projects/${project.id}`)
  await unassign()
  expect(await unassigned()).toHaveLength(0)
})

// This must be the last test, because the workers keep running.
test('unassigns every task of a removed member, and the history shows it', async () => {
  scene.service.startWorkers()
  const elsewhere = await make(ada, '/projects', { name: 'Other' })
  await invite(ada, elsewhere.id, guest, 'EDITOR')
  const kept = await make(ada, '/tasks', { title: 'Kept', projectId: elsewhere.id, assigneeId: guest.id })
  expect((await remove()).status).toBe(200)
  await untilOutboxEmpty(sql())
  expect(await assignees()).toEqual(mine.map(() => null))
  expect(await unassigned()).toEqual(mine.map(() => ({ actorId: workerActor })) as never)
  expect((await ada.get(`/tasks/${kept.id}`)).body.assigneeId).toBe(guest.id)
  expect(await faultsOf(sql())).toEqual([])
})
