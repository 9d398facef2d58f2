import { eventually, faultsOf, make, runBatch } from '../kit.ts'
import { openStandbyScene } from './standby-scene.ts'

const scene = await openStandbyScene({ mayFailOver: true })
const { ada, reference, plain, servers, heir, caughtUp, counts, health } = scene

test('after a failover to a lagging standby no process shows lost commits, also of a standby that is ahead', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Kept' })
  const task = await make(ada, '/tasks', { projectId, title: 'First' })
  const project = `/projects/${projectId}`
  const paths = (n: number) => [
    `/tasks?projectId=${projectId}&limit=${n}`,
    `/tasks/${task.id}`,
    `${project}/events?after=1&limit=${n}`,
    `${project}/history?limit=${n}`,
    `/tasks?projectId=${projectId}&asOf=2&limit=${n}`,
    `/search?projectId=${projectId}&q=lost`,
  ]
  await heir!.caughtUp()
  await heir!.cutOff()
  for (const n of [1, 2, 3]) await make(n % 2 ? ada : reference, '/tasks', { projectId, title: `Lost ${n}` })
  await ada.patch(`/tasks/${task.id}`, { title: 'Lost' })
  const known = await Promise.all(paths(60).map((path) => reference.get(path)))
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${ada.token}` }
  const stream = await plain.fetch(`/api/v1${project}/events`, { headers })
  await caughtUp()
  const { standby } = counts()
  // A busy standby may need too much time for a read, so several pages are read.
  let limit = 60
  await eventually('a read from a standby', async () => {
    for (const path of paths(limit++))
      expect((await ada.get(path)).text).toContain(path.includes('asOf') ? 'First' : 'Lost')
    return counts().standby > standby
  })
  await servers.killPrimary()
  await servers.promote()
  for (const user of [ada, reference])
    await eventually('a successful read', async () => (await user.get(project)).status === 200)
  expect((await reference.get(`${project}/events?after=5&wait=5`)).status).toBe(400)
  expect(await stream.text().catch(String)).toContain('event: end')
  const tries = () => counts().behind + counts().failed
  const before = tries()
  const titles = ['New 1', 'New 2', 'New 3', 'New 4']
  // Now primary and standbys have the same version, but other events.
  const operations = titles.map((title) => ({ op: 'task.create', title }))
  await runBatch(ada, projectId, operations)
  for (const [n, path] of paths(60).entries()) {
    const again = await reference.get(path, { 'if-none-match': known[n]!.headers.get('etag') ?? '' })
    expect([path, again.text.includes('Lost')]).toEqual([path, false])
    if (!path.includes('asOf')) expect([path, again.status]).toEqual([path, 200])
  }
  await eventually('a comparison of the events', async () => {
    for (const path of paths(60)) {
      const { status, text } = await ada.get(path)
      expect([path, status, text.includes('Lost')]).toEqual([path, 200, false])
    }
    return tries() > before || (await health()).standbys.includes('away')
  })
  for (const path of paths(60)) expect((await ada.get(path)).text).not.toContain('Lost')
  await eventually('that no standby counts as current', async () => {
    await make(ada, '/tasks', { projectId, title: 'New' })
    return !(await health()).standbys.includes('ok')
  })
  expect(await faultsOf(plain.services.database.background)).toEqual([])
})
