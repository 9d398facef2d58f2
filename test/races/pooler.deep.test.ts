import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { isMigrated, migrate } from '../../drizzle/migrate.ts'
import { make, register } from '../support/client.ts'
import { freshDatabase } from '../support/database.ts'
import { faultsOf } from '../support/history.ts'
import { openPgBouncer } from '../support/pgbouncer.ts'
import { forFile, spawnService } from '../support/service.ts'
import { startLoad } from './load.ts'
import { requireUnnoticed } from './unnoticed.ts'
import { eventually, openPair, upTo } from './pair.ts'

/** Fewer than the processes open, so that each is given to one after another. */
const connections = 6

const nameOf = (url: string) => new URL(url).pathname.slice(1)

const fresh = await forFile(freshDatabase())
await onServer(fresh.url, (sql) =>
  sql.unsafe(`alter database "${nameOf(fresh.url)}" set timezone = 'Asia/Tokyo'`),
)
const pooler = await forFile(openPgBouncer(fresh.url, connections))
const pair = await forFile(openPair({ DATABASE_URL: pooler.through(fresh.url), DATABASE_POOLER: 'on' }))
await forFile(spawnService('worker', pair.env))
async function onServer<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, prepare: false, onnotice: () => {} })
  return work(sql).finally(() => sql.end({ timeout: 1 }))
}

test('everything works behind a pooler that gives a connection to one after another', async () => {
  const { atA, atB, sql } = pair
  const projects = await Promise.all(upTo(4).map(() => make(atA, '/projects', { name: 'Pooled' })))
  const [first] = projects
  const [one, other] = await Promise.all(upTo(2).map(() => make(atA, '/projects', { name: 'Moved' })))
  const task = await make(atA, '/tasks', { projectId: one!.id, title: 'Due', dueDate: '2027-01-31' })
  expect(task.dueDate).toBe('2027-01-31T00:00:00.000Z')
  expect((await atB.get(`/tasks/${task.id}`)).body).toEqual(task)
  const load = startLoad({ clients: [atA, atB], projectIds: projects.map(({ id }) => id), writers: 24 })
  await load.acknowledged(300)
  await atA.patch(`/tasks/${task.id}`, { title: 'Moved', projectId: other!.id })
  expect((await atB.get(`/projects/${first!.id}/history?limit=5`)).status).toBe(200)
  expect((await atB.get(`/tasks?status=TODO&sort=-dueDate&limit=5`)).status).toBe(200)
  await register(atB.as())
  await requireUnnoticed(sql, load)
  expect(await faultsOf(sql)).toEqual([])
  await atA.delete(`/projects/${first!.id}`)
  const streams = () => sql`select from streams where project_id = ${first!.id}`
  await eventually('the end of the project', async () => (await streams()).length === 0)
})

test('connections that a pooler ends are made anew', async () => {
  const { atA } = pair
  const { id } = await make(atA, '/projects', { name: 'Cut' })
  for (const n of upTo(5)) {
    await onServer(
      fresh.url,
      (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'docket'`,
    )
    await make(atA, '/tasks', { projectId: id, title: `Task ${n}` })
  }
})

test('migrations go through it too, also when several start at once', async () => {
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
