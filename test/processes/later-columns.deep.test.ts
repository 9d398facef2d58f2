import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql as Direct } from 'postgres'
import { migrate } from '../../drizzle/migrate.ts'
import { openPostgres } from '../faults/postgres-server.ts'
import { expectAllStored, startLoad } from '../races/load.ts'
import { at, eventually, faultsOf, forFile, make, makeProjects, newFolder, openPair } from '../kit.ts'
import { spawnService, upTo } from '../kit.ts'
import type { Person } from '../kit.ts'

const dir = await newFolder()
const postgres = await forFile(openPostgres(dir))
await migrate(postgres.url)
// One connection per pool, so that prepared statements run again on the same connection.
const few = { READ_CONNECTIONS: '1', BACKGROUND_CONNECTIONS: '1', COMMIT_SLOTS: '1' }
const pair = await openPair({ DATABASE_URL: postgres.url, ...few })
await forFile(spawnService('worker', pair.env))

/** Adds a column to every table and an unknown migration, like a later release. */
const applyLaterMigration = () =>
  postgres.query(async (sql) => {
    await inEveryTable(sql, 'add column later text')
    await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', 9999999999999)`
  })

async function inEveryTable(sql: Direct, change: string): Promise<void> {
  const tables = await sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public'`
  expect(tables.length).toBeGreaterThan(10)
  for (const { name } of tables) await sql.unsafe(`alter table "${name}" ${change}`)
}

async function callEveryRoute(person: Person) {
  const { id: projectId } = await make(person, '/projects', { name: 'One' })
  const other = await make(person, '/projects', { name: 'Other' })
  const key = { 'idempotency-key': crypto.randomUUID() }
  for (const _ of upTo(2))
    expect((await person.post('/tasks', { projectId, title: 'Once' }, key)).status).toBe(201)
  const { id } = await make(person, '/tasks', { projectId, title: 'T', dueDate: '2027-01-31' })
  const subtask = await make(person, `/tasks/${id}/subtasks`, { title: 'S' })
  await make(person, `/tasks/${id}/comments`, { text: 'C' })
  const paths = [
    ...['/auth/me', '/tokens', '/projects', '/tasks', '/tasks?sort=-dueDate&status=TODO'],
    ...['', '/members', '/events', '/history', '/webhooks', '/service-accounts'].map(
      (p) => `/projects/${projectId}${p}`,
    ),
    ...['', '/subtasks', '/comments', '/history', '?asOf=3'].map((path) => `/tasks/${id}${path}`),
    ...[
      `/tasks?projectId=${projectId}`,
      `/tasks?projectId=${projectId}&asOf=3`,
      `/projects/${projectId}?asOf=1`,
    ],
  ]
  for (const path of paths) expect([path, (await person.get(path)).status]).toEqual([path, 200])
  const writes = [
    person.patch(`/tasks/subtasks/${subtask.id}`, { completed: true }),
    person.patch(`/tasks/${id}`, { projectId: other.id }),
    person.delete(`/tasks/${id}`),
    person.post(`/projects/${projectId}/batch`, { operations: [{ op: 'task.create', title: 'B' }] }),
    person.post(`/projects/${projectId}/undo`, { seq: 2 }),
    person.patch('/auth/me', { name: 'Other' }),
    person.delete(`/projects/${projectId}`),
  ]
  for (const write of writes) expect([200, 201, 404, 409]).toContain((await write).status)
  await eventually('the purge of the project', async () => {
    return (await pair.sql`select from streams where project_id = ${projectId}`).length === 0
  })
}

test('a later release may add columns under load while this release serves', async () => {
  const { a, b, atA, atB, sql } = pair
  for (const person of [atA, atB]) await callEveryRoute(person)
  const projectIds = await makeProjects(atA, 3)
  const load = startLoad({ clients: [atA, atB], projectIds })
  await load.acknowledged(100)
  await applyLaterMigration()
  const later = await forFile(spawnService('web', pair.env))
  for (const person of [atA, atB, at(atA, later)]) await callEveryRoute(person)
  await load.acknowledged(100)
  await expectAllStored(sql, load, [])
  for (const { url } of [a, b, later]) expect((await fetch(`${url}/health/ready`)).status).toBe(200)
  // After this error, postgres.js retries the statement, and could mix up the results of queries.
  const log = await readFile(join(dir, 'postgres.log'), 'utf8')
  expect(log.match(/cached plan must not change result type\n.*/g) ?? []).toEqual([])
  await Promise.all([a, b, later].map((one) => one.stop()))
  await postgres.query((direct) => inEveryTable(direct, 'drop column later'))
  expect(await faultsOf(sql)).toEqual([])
})
