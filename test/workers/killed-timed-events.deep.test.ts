import { clockShiftedBy, eventually, faultsOf, openForEach, openTestService, spawnService } from '../kit.ts'
import { upTo } from '../kit.ts'
import { openTimes } from './times-scene.ts'

const forEach = openForEach()
const open = async (env: Record<string, string> = {}) => openTimes(await forEach(openTestService(env)))

test('two worker processes record each timed event once, also if one process is killed and started again', async () => {
  const scene = await open({ JOB_BATCH_ROWS: '4', JOB_PAUSE_MS: '20' })
  const { service, countTimed } = scene
  const start = (clock = {}) => forEach(spawnService('worker', { ...service.env, ...clock }))
  const [killed] = await Promise.all([start(), start(clockShiftedBy(3_600_000))])
  const projects = await Promise.all(upTo(6).map(() => scene.createTimed(20)))
  await eventually('the first events', async () => (await countTimed()) > 20)
  await killed.stop('SIGKILL')
  await start()
  await scene.untilRecorded(projects)
  expect(await scene.timedEvents()).toEqual(scene.expected(projects))
  expect(await scene.countEarly()).toBe(0)
  expect(await faultsOf(service.services.database.reads)).toEqual([])
})
