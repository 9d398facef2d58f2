import { type Body, faultsOf, forFile, make, openTestService, register } from '../kit.ts'

let project: Body
let task: Body
const service = await forFile(openTestService())
// Separate leases, because after a failover two processes may write the same project.
const REDIS_PREFIX = `${service.env.REDIS_PREFIX}-other`
const other = await forFile(openTestService({ ...service.env, REDIS_PREFIX, LOG_LEVEL: 'silent' }))
const ada = await register(service.client)
const adaAtOther = { ...ada, ...other.client.as(ada.token) }
beforeEach(async () => {
  project = await make(ada, '/projects', { name: 'Old' })
  task = await createKnown(project)
})

/** Creates a task, and loads it into the actor's state by an update that changes nothing. */
async function createKnown({ id: projectId }: Body): Promise<Body> {
  const made = await make(ada, '/tasks', { title: 'Lost', projectId })
  expect((await ada.patch(`/tasks/${made.id}`, { title: 'Lost' })).status).toBe(200)
  return made
}

const sql = () => service.services.database.background

/** Removes the project's second event as a failover may, and lets another process commit another second event. */
async function reuseVersion({ id }: Body): Promise<void> {
  await sql().begin(async (sql) => {
    await sql`delete from tasks where project_id = ${id}`
    await sql`delete from events where project_id = ${id} and seq = 2`
    await sql`update streams set version = 1, last_number = 0,
      last_event_id = (select id from events where project_id = ${id}) where project_id = ${id}`
  })
  expect((await adaAtOther.patch(`/projects/${id}`, { name: 'Renamed' })).status).toBe(200)
}

test("an update retries after the process's last known event was lost in a failover", async () => {
  await reuseVersion(project)
  expect((await ada.patch(`/tasks/${task.id}`, { title: 'Changed' })).status).toBe(404)
  expect(await faultsOf(sql())).toEqual([])
})

test('a create retries after the last event was lost', async () => {
  await reuseVersion(project)
  expect((await make(ada, '/tasks', { title: 'Next', projectId: project.id })).number).toBe(1)
  expect(await faultsOf(sql())).toEqual([])
})

test('a move out of a project with a lost event retries', async () => {
  const target = await make(ada, '/projects', { name: 'Target' })
  await reuseVersion(project)
  expect((await ada.patch(`/tasks/${task.id}`, { projectId: target.id })).status).toBe(404)
  expect(await faultsOf(sql())).toEqual([])
})

test('a move into a project with a lost event retries', async () => {
  const target = await make(ada, '/projects', { name: 'Target' })
  await createKnown(target)
  await reuseVersion(target)
  const { status, body } = await ada.patch(`/tasks/${task.id}`, { projectId: target.id })
  expect([status, body.number]).toEqual([200, 1])
  expect(await faultsOf(sql())).toEqual([])
})
