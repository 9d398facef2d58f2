import postgres from 'postgres'
import { isMigrated, migrate } from '../../drizzle/migrate.ts'
import { deleteAndPurge, forFile, freshDatabase, make, makeProjects, openPair, register } from '../kit.ts'
import { spawnService, terminateConnections, upTo } from '../kit.ts'
import { openPgBouncer } from '../support/pgbouncer.ts'
import { expectAllStored, startLoad } from './load.ts'

/** Fewer server connections than the processes open, so that clients share them. */
const connections = 6

const nameOf = (url: string) => new URL(url).pathname.slice(1)

const fresh = await forFile(freshDatabase())
await onServer(fresh.url, (sql) =>
  sql.unsafe(`alter database "${nameOf(fresh.url)}" set timezone = 'Asia/Tokyo'`),
)
const pooler = await forFile(openPgBouncer(fresh.url, connections))
const pair = await openPair({ DATABASE_URL: pooler.through(fresh.url), DATABASE_POOLER: 'on' })
await forFile(spawnService('worker', pair.env))
async function onServer<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, prepare: false, onnotice: () => {} })
  return work(sql).finally(() => sql.end({ timeout: 1 }))
}

test('the service works behind PgBouncer in transaction mode', async () => {
  const { atA, atB, sql } = pair
  const projectIds = await makeProjects(atA, 4)
  const [first] = projectIds
  const [one, other] = await makeProjects(atA, 2)
  const task = await make(atA, '/tasks', { projectId: one, title: 'Due', dueDate: '2027-01-31' })
  expect(task.dueDate).toBe('2027-01-31T00:00:00.000Z')
  expect((await atB.get(`/tasks/${task.id}`)).body).toEqual(task)
  const load = startLoad({ clients: [atA, atB], projectIds, writers: 24 })
  await load.acknowledged(300)
  await atA.patch(`/tasks/${task.id}`, { title: 'Moved', projectId: other })
  expect((await atB.get(`/projects/${first}/history?limit=5`)).status).toBe(200)
  expect((await atB.get(`/tasks?status=TODO&sort=-dueDate&limit=5`)).status).toBe(200)
  await register(atB.as())
  await expectAllStored(sql, load, [])
  await deleteAndPurge(atA, sql, first!)
})

test('the service reconnects when the pooler closes connections', async () => {
  const { atA } = pair
  const { id } = await make(atA, '/projects', { name: 'Cut' })
  for (const n of upTo(5)) {
    await onServer(fresh.url, terminateConnections)
    await make(atA, '/tasks', { projectId: id, title: `Task ${n}` })
  }
})

test('concurrent migrations succeed through the pooler', async () => {
  const name = `${nameOf(fresh.url)}_new`
  await onServer(fresh.url, (sql) => sql`create database ${sql(name)}`)
  const url = Object.assign(new URL(pooler.through(fresh.url)), { pathname: name }).href
  try {
    await Promise.all(upTo(3).map(() => migrate(url)))
    expect(await isMigrated(url)).toBe(true)
  } finally {
    await onServer(fresh.url, (sql) => sql`drop database ${sql(name)} with (force)`)
  }
})
