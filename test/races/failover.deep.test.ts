import { migrate } from '../../drizzle/migrate.ts'
import { eventually, faultsOf, forFile, make, newFolder, openPair, primaryServer } from '../kit.ts'
import { openPostgres } from '../faults/postgres-server.ts'

test('after a failover to a lagging standby no process returns or uses lost writes', async () => {
  const servers = await forFile(openPostgres(await newFolder()))
  await migrate(await primaryServer(servers.urls))
  await servers.startStandby({ synchronous: false })
  const { a, atA, atB, sql } = await openPair({ DATABASE_URL: servers.urls })
  const { id: projectId } = await make(atA, '/projects', { name: 'Kept' })
  const task = await make(atA, '/tasks', { projectId, title: 'First' })
  const paths = [`/tasks?projectId=${projectId}`, `/tasks/${task.id}`, `/projects/${projectId}/events`]
  await servers.standbyCaughtUp()
  await servers.cutStandbyOff()
  for (const user of [atA, atB]) {
    await make(user, '/tasks', { projectId, title: 'Lost' })
    await user.patch(`/tasks/${task.id}`, { title: 'Lost' })
  }
  const seen = await Promise.all(paths.map((path) => atB.get(path)))
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${atA.token}` }
  const stream = await fetch(`${a.url}/api/v1/projects/${projectId}/events`, { headers })
  expect(seen[2]!.body).toHaveLength(5)
  await servers.killPrimary()
  await servers.promote()
  const titles = async (user = atB) =>
    (await user.get(`/tasks?projectId=${projectId}&limit=9`)).body.map(({ title }) => title)
  await eventually('a successful read', async () => (await atA.get(paths[0]!)).status === 200)
  for (const user of [atA, atB]) expect(await titles(user)).toEqual(['First'])
  expect((await atA.get(`/projects/${projectId}/events?after=5&wait=5`)).status).toBe(400)
  expect(await stream.text().catch(String)).toContain('event: end')
  for (const n of [2, 3, 4, 5]) {
    await make(atA, '/tasks', { projectId, title: `New ${n}` })
    for (const [i, path] of paths.entries()) {
      const again = await atB.get(path, { 'if-none-match': seen[i]!.headers.get('etag')! })
      expect([path, again.status, again.text.includes('Lost')]).toEqual([path, 200, false])
    }
  }
  expect(await titles()).toEqual(['First', 'New 2', 'New 3', 'New 4', 'New 5'])
  expect(await faultsOf(sql)).toEqual([])
})
