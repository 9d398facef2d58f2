import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql as Direct } from 'postgres'
import { migrate } from '../../drizzle/migrate.ts'
import { openPostgres } from '../faults/postgres-server.ts'
import { expectAllStored, startLoad } from '../races/load.ts'
import { at, eventually, forFile, make, makeProjects, newFolder, openPair, type Person } from '../kit.ts'
import { spawnService, statuses, upTo } from '../kit.ts'

const dir = await newFolder()
const postgres = await forFile(openPostgres(dir))
await migrate(postgres.url)
// One connection per pool, so that prepared statements run again on the same connection.
const few = { READ_CONNECTIONS: '1', BACKGROUND_CONNECTIONS: '1', COMMIT_SLOTS: '1' }
const pair = await openPair({ DATABASE_URL: postgres.url, ...few })
await forFile(spawnService('worker', pair.env))

async function inEveryTable(sql: Direct, change: string): Promise<void> {
  const tables = await sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public'`
  expect(tables.length).toBeGreaterThan(10)
  for (const { name } of tables) await sql.unsafe(`alter table "${name}" ${change}`)
}

async function callManyRoutes(person: Person) {
  const [projectId, otherId] = (await makeProjects(person, 2)) as [string, string]
  const key = { 'idempotency-key': crypto.randomUUID() }
  const { id } = await make(person, '/tasks', { projectId, title: 'T', dueDate: '2027-01-31' })
  const subtask = await make(person, `/tasks/${id}/subtasks`, { title: 'S' })
  await make(person, `/tasks/${id}/comments`, { text: 'C' })
  const inProject = ['', '/members', '/events', '/history', '/webhooks', '/service-accounts', '?asOf=1']
  const ofTask = ['', '/subtasks', '/comments', '/history', '?asOf=3']
  const reads = await Promise.all(
    [
      ...['/auth/me', '/tokens', '/projects', '/tasks', '/tasks?sort=-dueDate&status=TODO'],
      ...inProject.map((path) => `/projects/${projectId}${path}`),
      ...ofTask.map((path) => `/tasks/${id}${path}`),
      ...['', '&asOf=3'].map((asOf) => `/tasks?projectId=${projectId}${asOf}`),
    ].map((path) => person.get(path)),
  )
  expect(statuses(reads)).toEqual({ 200: reads.length })
  for (const write of [
    ...upTo(2).map(() => () => person.post('/tasks', { projectId, title: 'Once' }, key)),
    () => person.patch(`/tasks/subtasks/${subtask.id}`, { completed: true }),
    () => person.patch(`/tasks/${id}`, { projectId: otherId }),
    () => person.delete(`/tasks/${id}`),
    () => person.post(`/projects/${projectId}/batch`, { operations: [{ op: 'task.create', title: 'B' }] }),
    () => person.post(`/projects/${projectId}/undo`, { seq: 5 }),
    () => person.patch('/auth/me', { name: 'Other' }),
    () => person.delete(`/projects/${projectId}`),
  ])
    expect([200, 201]).toContain((await write()).status)
  const streams = () => pair.sql`select from streams where project_id = ${projectId}`
  await eventually('the purge of the project', async () => (await streams()).length === 0)
}

test('a later release may add columns under load while this release serves', async () => {
  const { a, b, atA, atB, sql } = pair
  for (const person of [atA, atB]) await callManyRoutes(person)
  const load = startLoad({ clients: [atA, atB], projectIds: await makeProjects(atA, 3) })
  await load.acknowledged(100)
  // A column in every table, and an unknown migration.
  await postgres.query(async (direct) => {
    await inEveryTable(direct, 'add column later text')
    await direct`insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', 9999999999999)`
  })
  const later = await forFile(spawnService('web', pair.env))
  for (const person of [atA, atB, at(atA, later)]) await callManyRoutes(person)
  await load.acknowledged(100)
  await expectAllStored(sql, load, [])
  for (const { url } of [a, b, later]) expect((await fetch(`${url}/health/ready`)).status).toBe(200)
  // After this error, postgres.js retries the statement, and could mix up the results of queries.
  const log = await readFile(join(dir, 'postgres.log'), 'utf8')
  expect(log.match(/cached plan must not change result type\n.*/g) ?? []).toEqual([])
  await Promise.all([a, b, later].map((one) => one.stop()))
  await postgres.query((direct) => inEveryTable(direct, 'drop column later'))
})
