import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { newId } from '../../src/ids.ts'
import { freshDatabase } from '../support/database.ts'
import { emptyDatabase, run } from './launch.ts'
import { forFile } from '../support/service.ts'

const [id, projectId] = [newId(), newId()]
const database = await forFile(freshDatabase())
const env: Record<string, string> = { DATABASE_URL: database.url, NODE_ENV: 'production' }
const sql = postgres(database.url, { max: 1 })
await sql`insert into outbox (id, project_id, name, data, created_at, attempts, error, parked_at)
  values (${id}, ${projectId}, 'purge-project', '{}', now(), 8, 'P0001: Not today', '2027-01-31 12:00:00+00')`
await sql.end()

test('jobs lists what is parked, asks for it again, and refuses what it does not know', async () => {
  expect(await run('jobs', env)).toEqual({
    code: 0,
    output:
      `${id}  purge-project  project ${projectId}  8 attempts  since 2027-01-31T12:00:00.000Z\n` +
      '  P0001: Not today\n1 job parked, 0 waiting or under way\n',
  })
  const unknown = newId()
  const refused = { code: 1, output: `No parked job has the id ${unknown}\n` }
  expect(await run('jobs', env, 'drop', unknown)).toEqual(refused)
  expect(await run('jobs', env, 'retry', id)).toEqual({ code: 0, output: '1 job asked for again\n' })
  expect((await run('jobs', env, 'list')).output).toBe('0 jobs parked, 1 waiting or under way\n')
  expect((await run('jobs', env, 'forget')).code).toBe(1)
})

test('jobs says that a database is not migrated', async () => {
  const empty = await emptyDatabase()
  const { code, output } = await run('jobs', { DATABASE_URL: empty.url })
  expect({ code, output }).toEqual({ code: 1, output: 'The database is not migrated: npm run migrate\n' })
  await empty.drop()
})

test('without DATABASE_URL jobs asks the Postgres of DATA_DIR', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'docket-jobs-'))
  expect(await run('jobs', { DATA_DIR: dir })).toEqual({
    code: 0,
    output: '0 jobs parked, 0 waiting or under way\n',
  })
  await rm(dir, { recursive: true, force: true })
})
