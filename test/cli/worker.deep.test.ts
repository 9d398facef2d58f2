import { openCliScene } from './scene.ts'

const { run, docket, newProject } = await openCliScene()

async function start(command: string) {
  const { id, list } = await newProject(1)
  const env = { DOCKET_PROJECT: id, PATH: process.env.PATH! }
  const running = run(['claim-next', '--lease', '10', '--exec', command], { env })
  while (!(await list())[0]!.claim) await Bun.sleep(10)
  return { running, read: async () => (await list())[0]! }
}

test('docket extends the claim while the command runs', async () => {
  const { running, read } = await start('sleep 13')
  await Bun.sleep(11_500)
  expect((await read()).claim).not.toBeNull()
  expect((await running).code).toBe(0)
  expect((await read()).status).toBe('DONE')
})

test('docket ends the command if another worker has the claim', async () => {
  const { running, read } = await start('sleep 60; echo never')
  await docket.tasks.release((await read()).id)
  const { code, err } = await running
  expect([code, err]).toEqual([5, expect.stringContaining('has ended too early')])
  expect((await read()).status).toBe('TODO')
})
