import { faultsOf, make, makeProjects, openScene, upTo } from '../kit.ts'

const { ada, service, sql } = await openScene(['Ada'], { COMMIT_PROJECTS: '1' })
const { seconds, units } = service.services.counts.commits

test('with COMMIT_PROJECTS=1 each commit statement writes one project, and a move writes two', async () => {
  const projectIds = await makeProjects(ada, 20)
  const before = seconds.total
  const tasks = await Promise.all(
    projectIds.map((projectId) => make(ada, '/tasks', { projectId, title: 'T' })),
  )
  expect(seconds.total - before).toBe(20)
  const batches = upTo(20).map((n) => ({
    operations: upTo(3).map((m) => ({ op: 'task.create', title: `${n}.${m}` })),
  }))
  await Promise.all(projectIds.map((id, n) => ada.post(`/projects/${id}/batch`, batches[n])))
  expect(seconds.total - before).toBe(40)
  const won = units.won
  for (const [n, { id }] of tasks.entries())
    await ada.patch(`/tasks/${id}`, { projectId: projectIds[(n + 1) % projectIds.length] })
  expect([seconds.total - before, units.won - won]).toEqual([60, 20])
  for (const id of projectIds) expect((await ada.get(`/tasks?projectId=${id}`)).body).toHaveLength(4)
  expect(await faultsOf(sql)).toEqual([])
})
