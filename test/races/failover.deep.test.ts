import { afterEach, beforeEach, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { migrate } from '../../drizzle/migrate.ts'
import { writerUrl } from '../../src/postgres/writer.ts'
import { make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'

import { type ServiceProcess, spawnService } from '../support/service.ts'
import { openPostgres, type PostgresServer } from '../faults/postgres-server.ts'
import { account, misnumbered, startLoad } from './load.ts'
import { eventually, openPair, type Pair, upTo } from './pair.ts'

/** Writing again so soon after a promotion, at most. */

let dataDir: string
let servers: PostgresServer
let pair: Pair
let worker: ServiceProcess
async function open(synchronous: boolean) {
  await mkdir(dataDir)
  servers = await openPostgres(dataDir)
  await migrate(await writerUrl(servers.urls))
  await servers.follow({ synchronous })
  pair = await openPair({ DATABASE_URL: servers.urls })
  worker = await spawnService('worker', pair.env)
}
beforeEach(async () => {
  const base = await realpath(process.env.TEST_DATA_DIR!)
  dataDir = join(base, `failover-${randomBytes(4).toString('hex')}`)
})
afterEach(async () => {
  await Promise.all([pair.close(), worker.stop('SIGKILL')])
  await servers.stop()
  await rm(dataDir, { recursive: true, force: true })
})

test('the standby takes over from a primary that was killed, and nothing acknowledged is lost', async () => {
  await open(true)
  const { atA, atB, sql } = pair
  const projects = await Promise.all(upTo(3).map(() => make(atA, '/projects', { name: 'Busy' })))
  const load = startLoad({ clients: [atA, atB], projectIds: projects.map(({ id }) => id) })
  await load.acknowledged(100)
  await servers.killPrimary()
  await servers.promote()
  await load.acknowledged(200)
  await load.stop()
  const { lost, doubled, writes, reads } = await account(sql, load)
  expect({ lost, doubled }).toEqual({ lost: [], doubled: [] })
  for (const status of [...Object.keys(writes), ...Object.keys(reads)])
    expect(['200', '201', '503']).toContain(status)
  expect(await misnumbered(sql)).toHaveLength(0)
  expect(await faultsOf(sql)).toEqual([])
  // The worker has gone over too.
  await atA.delete(`/projects/${projects[0]!.id}`)
  const streams = () => sql`select from streams where project_id = ${projects[0]!.id}`
  await eventually('the end of the project', async () => (await streams()).length === 0)
})

test('where the standby was behind, nothing is shown or believed of what is lost', async () => {
  await open(false)
  const { atA, atB, sql } = pair
  const { id: projectId } = await make(atA, '/projects', { name: 'Kept' })
  const task = await make(atA, '/tasks', { projectId, title: 'First' })
  const paths = [`/tasks?projectId=${projectId}`, `/tasks/${task.id}`, `/projects/${projectId}/events`]
  await servers.caughtUp()
  await servers.cutStandbyOff()
  for (const who of [atA, atB]) {
    await make(who, '/tasks', { projectId, title: 'Lost' })
    await who.patch(`/tasks/${task.id}`, { title: 'Lost' })
  }
  const seen = await Promise.all(paths.map((path) => atB.get(path)))
  const stream = await follow(atA, projectId)
  expect(seen[2]!.body).toHaveLength(5)
  await servers.killPrimary()
  await servers.promote()
  const titles = async (who = atB) =>
    (await who.get(`/tasks?projectId=${projectId}&limit=9`)).body.map(({ title }) => title)
  await eventually('reading again', async () => (await atA.get(paths[0]!)).status === 200)
  for (const who of [atA, atB]) expect(await titles(who)).toEqual(['First'])
  expect((await atA.get(`/projects/${projectId}/events?after=5&wait=5`)).status).toBe(400)
  expect(await stream.ended).toContain('event: end')
  for (const n of [2, 3, 4, 5]) {
    await make(atA, '/tasks', { projectId, title: `New ${n}` })
    for (const [i, path] of paths.entries()) {
      const again = await atB.get(path, { 'if-none-match': seen[i]!.headers.get('etag')! })
      expect([path, again.status, again.text.includes('Lost')]).toEqual([path, 200, false])
    }
  }
  expect(await titles()).toEqual(['First', 'New 2', 'New 3', 'New 4', 'New 5'])
  expect(await misnumbered(sql)).toHaveLength(0)
  expect(await faultsOf(sql)).toEqual([])
})

/** Reads a stream of events until it ends. */
async function follow(who: Pair['atA'], projectId: string) {
  const answer = await fetch(`${pair.a.url}/api/v1/projects/${projectId}/events`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${who.token}` },
  })
  return { ended: answer.text().catch(String) }
}
