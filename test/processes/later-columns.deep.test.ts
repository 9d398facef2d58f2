import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql as Direct } from 'postgres'
import { migrate } from '../../drizzle/migrate.ts'
import { faultsOf, forFile, make, newFolder, openClient, openPair, register, registerTeam } from '../kit.ts'
import { spawnService } from '../kit.ts'
import { openPostgres } from '../faults/postgres-server.ts'
import { createRows, readCalls, send } from '../http/operations.ts'

const dir = await newFolder()
const postgres = await forFile(openPostgres(dir))
await migrate(postgres.url)
// One connection per pool, so that prepared statements run again on the same connection.
const few = { READ_CONNECTIONS: '1', BACKGROUND_CONNECTIONS: '1', COMMIT_SLOTS: '1' }
const { a, b, atA, atB, sql, env } = await openPair({ DATABASE_URL: postgres.url, RATE_LIMIT: 'off', ...few })

async function inEveryTable(direct: Direct, change: string): Promise<void> {
  const tables = await direct<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public'`
  expect(tables.length).toBeGreaterThan(10)
  for (const { name } of tables) await direct.unsafe(`alter table "${name}" ${change}`)
}

/** Calls every documented operation on one project. Deletions come last, and that of the project comes after all others. */
async function callAll({ url }: { url: string }): Promise<void> {
  const client = openClient(url)
  const people = await registerTeam(client)
  const { calls } = await readCalls(client)
  const rank = ({ method, path }: (typeof calls)[number]) => (method === 'DELETE' ? 1_000 - path.length : 0)
  const rows = await createRows(people, await register(client), sql)
  for (const call of calls.filter(({ role }) => role).toSorted((one, other) => rank(one) - rank(other))) {
    const { status, text } = await send(people.owner, call, rows)
    expect([call.id, status < 500, text]).toEqual([call.id, true, text])
  }
}

test('a later release may add columns under load while this release serves', async () => {
  await Promise.all([a, b].map(callAll))
  const { id: projectId } = await make(atA, '/projects', { name: 'Busy' })
  let isRunning = true
  const writers = [atA, atB].map(async (user) => {
    while (isRunning) await make(user, '/tasks', { projectId, title: 'T' })
  })
  // A column in every table, and an unknown migration.
  await postgres.query(async (direct) => {
    await inEveryTable(direct, 'add column later text')
    await direct`insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', 9999999999999)`
  })
  const later = await forFile(spawnService('web', env))
  await Promise.all([a, b, later].map(callAll))
  isRunning = false
  await Promise.all(writers)
  expect(await faultsOf(sql)).toEqual([])
  for (const { url } of [a, b, later]) expect((await fetch(`${url}/health/ready`)).status).toBe(200)
  // After this error, postgres.js retries the statement, and could mix up the results of queries.
  const log = await readFile(join(dir, 'postgres.log'), 'utf8')
  expect(log.match(/cached plan must not change result type\n.*/g) ?? []).toEqual([])
  await Promise.all([a, b, later].map((one) => one.stop()))
  await postgres.query((direct) => inEveryTable(direct, 'drop column later'))
}, 400_000)
