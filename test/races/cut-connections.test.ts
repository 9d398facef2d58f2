import { test } from 'bun:test'
import postgres from 'postgres'
import { terminateConnections } from '../support/database.ts'
import { forFile } from '../support/service.ts'
import { expectAllStored, startLoad } from './load.ts'
import { eventually, makeProjects, openPair, upTo } from './pair.ts'

const pair = await forFile(openPair())
const admin: postgres.Sql = await forFile(postgres(pair.env.DATABASE_URL!, { max: 2, onnotice: () => {} }))

test('if Postgres cuts all connections under load, writes are stored once, and fail only with 503', async () => {
  const { atA, atB, sql } = pair
  const projectIds = await makeProjects(atA, 3)
  const load = startLoad({ clients: [atA, atB], projectIds, writers: 16 })
  for (const _ of upTo(12)) {
    await load.acknowledged(25)
    await terminateConnections(admin)
  }
  await load.acknowledged(100)
  await load.stop()
  const isConnected = async () => (await sql`select 1`.catch(() => [])).length > 0
  await eventually('new connections of this test', isConnected)
  await expectAllStored(sql, load, [503])
})
