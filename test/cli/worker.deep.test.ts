import { openCliScene } from './scene.ts'

const { run, docket, newProject } = await openCliScene()

test('docket ends the command if another worker has the claim', async () => {
  const { id, list } = await newProject(1)
  const env = { DOCKET_PROJECT: id, PATH: process.env.PATH! }
  const running = run(['claim-next', '--lease', '10', '--exec', 'sleep 60; echo never'], { env })
  while (!(await list())[0]!.claim) await Bun.sleep(10)
  await docket.tasks.release((await list())[0]!.id)
  const { code, err } = await running
  expect([code, err]).toEqual([5, expect.stringContaining('has ended too early')])
  expect(await list()).toMatchObject([{ status: 'TODO' }])
})
