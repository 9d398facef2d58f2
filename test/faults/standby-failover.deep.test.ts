import { eventually, make, runBatch } from '../kit.ts'
import { openStandbyScene } from './standby-scene.ts'

const scene = await openStandbyScene({ mayFailOver: true })
const { ada, servers, caughtUp, counts, health } = scene

test('after a failover no page shows lost commits of a standby that is ahead', async () => {
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
  await servers.standbyCaughtUp()
  await servers.cutStandbyOff()
  for (const n of [1, 2, 3]) await make(ada, '/tasks', { projectId, title: `Lost ${n}` })
  await ada.patch(`/tasks/${task.id}`, { title: 'Lost' })
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
  await eventually('a successful read', async () => (await ada.get(project)).status === 200)
  const tries = () => counts().behind + counts().failed
  const before = tries()
  const titles = ['New 1', 'New 2', 'New 3', 'New 4']
  // Now primary and standbys have the same version, but other events.
  await runBatch(
    ada,
    projectId,
    titles.map((title) => ({ op: 'task.create', projectId, title })),
  )
  await eventually('a comparison of the events', async () => {
    for (const path of paths(60)) {
      const { status, text } = await ada.get(path)
      expect([path, status, text.includes('Lost')]).toEqual([path, 200, false])
    }
    return tries() > before || (await health()).standbys.includes('away')
  })
  for (const path of paths(60)) expect((await ada.get(path)).text).not.toContain('Lost')
  await eventually('that no standby counts as current', async () => !(await health()).standbys.includes('ok'))
})
