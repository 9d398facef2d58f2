import { test } from 'bun:test'
import postgres from 'postgres'
import { requireKept, startLoad } from './load.ts'
import { eventually, openPair, upTo, makeProjects } from './pair.ts'
import { forFile } from '../support/service.ts'

const pair = await forFile(openPair())
const admin: postgres.Sql = await forFile(postgres(pair.env.DATABASE_URL!, { max: 2, onnotice: () => {} }))

const terminate = () => admin`
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name = 'docket'`

test('connections cut in mid-load lose and double nothing, and cost a 503 at worst', async () => {
  const { atA, atB, sql } = pair
  const projectIds = await makeProjects(atA, 3)
  const load = startLoad({ clients: [atA, atB], projectIds, writers: 16 })
  for (const _ of upTo(12)) {
    await load.acknowledged(25)
    await terminate()
  }
  await load.acknowledged(100)
  await load.stop()
  await eventually(
    'the connections of this test',
    async () => (await sql`select 1`.catch(() => [])).length > 0,
  )
  await requireKept(sql, load, [503])
})
