import { readFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'bun:test'
import { type Body, make, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { forFile, openTestService } from '../support/service.ts'
import { openFindCommitted } from '../../src/actor/find-committed.ts'
import { newId } from '../../src/ids.ts'

let project: Body
let task: Body
const service = await forFile(openTestService())
// Leases of its own: after a failover two processes may both believe that they alone write a project.
const REDIS_PREFIX = `${service.env.REDIS_PREFIX}-other`
const other = await forFile(openTestService({ ...service.env, REDIS_PREFIX, LOG_LEVEL: 'silent' }))
const ada = await register(service.client)
const adaAtOther = { ...ada, ...other.client.as(ada.token) }
beforeEach(async () => {
  project = await make(ada, '/projects', { name: 'Old' })
  task = await createKnown(project)
})

/** A task that this process knows by its id from then on: a change that changes nothing is no event. */
async function createKnown({ id: projectId }: Body): Promise<Body> {
  const made = await make(ada, '/tasks', { title: 'Lost', projectId })
  expect((await ada.patch(`/tasks/${made.id}`, { title: 'Lost' })).status).toBe(200)
  return made
}

const migration = readFileSync(new URL('../../drizzle/migrations/0004_lineage.sql', import.meta.url), 'utf8')
const sql = () => service.services.database.background

test('projects from before versions named their events are given the event of their version', async () => {
  await sql()`alter table streams drop column last_event_id`
  for (const statement of migration.split('--> statement-breakpoint')) await sql().unsafe(statement)
  const wrong =
    await sql()`select s.* from streams s join events e on e.project_id = s.project_id and e.seq = s.version
    where s.last_event_id <> e.id`
  expect(wrong).toHaveLength(0)
  expect((await make(ada, '/tasks', { title: 'New', projectId: project.id })).number).toBe(2)
})

/** A failover loses the second event of a project, a created task; then another process makes another second one. */
async function reuseVersion({ id }: Body): Promise<void> {
  await sql().begin(async (sql) => {
    await sql`delete from tasks where project_id = ${id}`
    await sql`delete from events where project_id = ${id} and seq = 2`
    await sql`update streams set version = 1, last_number = 0,
      last_event_id = (select id from events where project_id = ${id}) where project_id = ${id}`
  })
  expect((await adaAtOther.patch(`/projects/${id}`, { name: 'Renamed' })).status).toBe(200)
}

test('a process that knows a lost event decides again on the one that took its version', async () => {
  await reuseVersion(project)
  expect((await ada.patch(`/tasks/${task.id}`, { title: 'Changed' })).status).toBe(404)
  expect(await faultsOf(sql())).toEqual([])
})

test('so does a create', async () => {
  await reuseVersion(project)
  expect((await make(ada, '/tasks', { title: 'Next', projectId: project.id })).number).toBe(1)
  expect(await faultsOf(sql())).toEqual([])
})

test('so does a move out of a project with a lost event', async () => {
  const target = await make(ada, '/projects', { name: 'Target' })
  await reuseVersion(project)
  expect((await ada.patch(`/tasks/${task.id}`, { projectId: target.id })).status).toBe(404)
  expect(await faultsOf(sql())).toEqual([])
})

test('so does a move into a project with a lost event', async () => {
  const target = await make(ada, '/projects', { name: 'Target' })
  await createKnown(target)
  await reuseVersion(target)
  const { status, body } = await ada.patch(`/tasks/${task.id}`, { projectId: target.id })
  expect([status, body.number]).toEqual([200, 1])
  expect(await faultsOf(sql())).toEqual([])
})

test('a command is found wherever its first event is in the log, which is read in pages', async () => {
  const { background: sql } = service.services.database
  const [projectId, ids] = [newId(), Array.from({ length: 2_100 }, () => newId())]
  await sql`
    insert into events (project_id, seq, id, type, entity, entity_id, actor_id, at)
    select ${projectId}, seq, id, 'task.updated', 'task', id, id, now()
    from unnest(${ids}::uuid[]) with ordinality e(id, seq)`
  const found = await openFindCommitted(sql)(projectId, ids.length, ids)
  expect(ids.filter((id) => found.get(id)?.id !== id)).toEqual([])
  expect(found.size).toBe(ids.length)
})
