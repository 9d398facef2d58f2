import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { unassignMember, worker } from '../../workers/cascade.ts'
import { type Body, invite, make, type Person, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { openTestService, type TestService } from '../support/service.ts'
import { eventually } from '../races/pair.ts'
import { owed } from './remains.ts'

const pace = { batchRows: 3, pauseMs: 0 }
let service: TestService
let ada: Person
let guest: Person
let project: Body
let member: Body
let mine: Body[]
const sql = () => service.services.database.reads
beforeAll(async () => {
  service = await openTestService({ JOB_BATCH_ROWS: '3', JOB_PAUSE_MS: '1' })
  ada = await register(service.client)
})
afterAll(() => service.close())
beforeEach(async () => {
  guest = await register(service.client)
  project = await make(ada, '/projects', { name: 'Shared' })
  member = await invite(ada, project.id, guest, 'EDITOR')
  const assigned = { projectId: project.id, assigneeId: guest.id }
  mine = []
  for (let n = 0; n < 8; n++) mine.push(await make(ada, '/tasks', { title: `Task ${n}`, ...assigned }))
})

const remove = () => ada.delete(`/projects/${project.id}/members/${member.id}`)
const unassign = () => {
  const job = { projectId: project.id, userId: guest.id }
  return unassignMember(sql(), service.services.run, job, pace)
}
const assignees = async () => {
  const { body } = await ada.get(`/tasks?projectId=${project.id}`)
  return body.map(({ assigneeId }) => assigneeId)
}
const unassigned = () => sql()<{ actorId: string }[]>`
  select actor_id from events where type = 'task.unassigned' and project_id = ${project.id}`

test('a member invited again before the job ran keeps what is assigned to them', async () => {
  await remove()
  await invite(ada, project.id, guest, 'VIEWER')
  await unassign()
  expect(await assignees()).toEqual(mine.map(() => guest.id))
  expect(await unassigned()).toHaveLength(0)
})

test('the job run twice, and side by side with itself, unassigns each task once', async () => {
  await remove()
  await Promise.all([unassign(), unassign()])
  await unassign()
  expect(await assignees()).toEqual(mine.map(() => null))
  expect(await unassigned()).toHaveLength(8)
})

test('tasks given to somebody else meanwhile stay theirs', async () => {
  await remove()
  await ada.patch(`/tasks/${mine[0]!.id}`, { assigneeId: ada.id })
  await unassign()
  expect(await assignees()).toEqual([ada.id, ...mine.slice(1).map(() => null)])
})

test('the job of a project that is gone does nothing', async () => {
  await remove()
  await ada.delete(`/projects/${project.id}`)
  await unassign()
  expect(await unassigned()).toHaveLength(0)
})

// Last: from here on the workers run.
test('a removed member loses every task, through the history like any other write', async () => {
  service.startWorkers()
  const elsewhere = await make(ada, '/projects', { name: 'Other' })
  await invite(ada, elsewhere.id, guest, 'EDITOR')
  const kept = await make(ada, '/tasks', { title: 'Kept', projectId: elsewhere.id, assigneeId: guest.id })
  expect((await remove()).status).toBe(200)
  await eventually('an empty outbox', async () => (await owed(sql())) === 0)
  expect(await assignees()).toEqual(mine.map(() => null))
  expect(await unassigned()).toEqual(mine.map(() => ({ actorId: worker })) as never)
  expect((await ada.get(`/tasks/${kept.id}`)).body.assigneeId).toBe(guest.id)
  expect(await faultsOf(sql())).toEqual([])
})
