import { openCliScene } from './scene.ts'

const { run, json, docket } = await openCliScene()
const { id } = await json(['projects', '--create', 'Engine'])
const env = { DOCKET_PROJECT: id, PATH: process.env.PATH! }
const work = (command: string) => run(['claim-next', '--lease', '10', '--exec', command], { env })

test('docket extends the claim while the command runs', async () => {
  const task = await json(['add', 'Long'], { env })
  const running = work('sleep 13')
  await Bun.sleep(11_500)
  expect((await docket.tasks.get(task.id)).claim).not.toBeNull()
  expect((await running).code).toBe(0)
  const events = (await docket.project(id).history()).filter(({ type }) => type === 'task.claimed')
  expect(new Set(events.map(({ entityId }) => entityId))).toEqual(new Set([task.id]))
  expect((await docket.tasks.get(task.id)).status).toBe('DONE')
})

test('docket ends the command if another worker has the claim', async () => {
  const task = await json(['add', 'Lost'], { env })
  const running = work('sleep 60; echo never')
  while (!(await docket.tasks.get(task.id)).claim) await Bun.sleep(10)
  await docket.tasks.release(task.id)
  const { code, err } = await running
  expect([code, err]).toEqual([5, expect.stringContaining('has ended too early')])
  expect((await docket.tasks.get(task.id)).status).toBe('TODO')
})
