import { eventually, forFile, openScene, type ServiceProcess, spawnService } from '../kit.ts'
import { createFullProject, outboxSize, rowsWith, untilOutboxEmpty } from './remains.ts'

let worker: ServiceProcess
const sql = () => service.services.database.reads
const start = async (own = {}) => (worker = await forFile(spawnService('worker', { ...service.env, ...own })))
const { service, ada } = await openScene(['Ada'], { JOB_BATCH_ROWS: '3', JOB_PAUSE_MS: '30' })

test('another worker finishes the purge of a killed worker', async () => {
  const { id, ids } = await createFullProject(ada, 40)
  const left = async () => (await rowsWith(sql(), ids)).tasks ?? 0
  // With this pause, the worker is killed long before the end of the purge.
  await start({ JOB_PAUSE_MS: '300' })
  await ada.delete(`/projects/${id}`)
  await eventually('the first deletions', async () => (await left()) < 40)
  await worker.stop('SIGKILL')
  const half = await left()
  expect(half).toBeGreaterThan(0)
  expect(half).toBeLessThan(40)
  expect(await outboxSize(sql())).toBe(1)
  await start()
  await untilOutboxEmpty(sql())
  expect(await rowsWith(sql(), ids)).toEqual({})
})

test('a stopped worker finishes or returns its job, and exits with 0', async () => {
  const { id, ids } = await createFullProject(ada, 20)
  await ada.delete(`/projects/${id}`)
  await eventually('the first deletions', async () => ((await rowsWith(sql(), ids)).tasks ?? 0) < 20)
  expect(await worker.stop()).toBe(0)
  await start()
  await untilOutboxEmpty(sql())
  expect(await rowsWith(sql(), ids)).toEqual({})
})
