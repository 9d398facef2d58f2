import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually, make, newFolder, openClient, register, spawnService } from '../kit.ts'
import { readiness } from './launch.ts'

const dataDir = await newFolder()

test('start in an empty folder without DATABASE_URL and REDIS_URL serves, and keeps data and tokens over a restart', async () => {
  const env = { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', SWEEP_EVERY_MS: '200' }
  const first = await spawnService('start', env)
  expect(await readiness(first.url)).toMatchObject({ status: 200, body: { postgres: 'ok' } })
  await eventually('Redis to be available', async () => (await readiness(first.url)).body.redis === 'ok')
  const ada = await register(openClient(first.url))
  const project = await make(ada, '/projects', { name: 'Kept' })
  expect(await first.stop()).toBe(0)

  const second = await spawnService('start', env)
  const again = ada.at(second.url)
  expect((await again.get(`/projects/${project.id}`)).body).toEqual(project)
  const task = await make(again, '/tasks', { title: 'Doomed', projectId: project.id })
  await make(again, `/tasks/${task.id}/comments`, { text: 'Doomed too' })
  expect((await again.delete(`/projects/${project.id}`)).status).toBe(200)
  expect((await again.get(`/tasks/${task.id}`)).status).toBe(404)
  expect(await second.stop()).toBe(0)
})

/** Programs that the service needs to start the local Postgres as root. */
const programs = ['id', 'chown', 'setpriv', 'sh']
const dir = await newFolder()
await mkdir(join(dir, 'bin'))
for (const name of programs) await symlink(Bun.which(name)!, join(dir, 'bin', name))

test.each(['1', '2'])('start warns if it cannot install Redis; processes: %s', async (WEB_CONCURRENCY) => {
  const env = { DATA_DIR: join(dir, 'data'), HOST: '127.0.0.1', PORT: '0', WEB_CONCURRENCY }
  const service = await spawnService('start', { ...env, PATH: join(dir, 'bin') })
  const warnings = service.output.filter((line) => line.includes('starting without Redis'))
  expect(warnings).toEqual([expect.stringContaining('There is neither redis-server nor valkey-server')])
  expect(JSON.parse(warnings[0]!)).toMatchObject({
    level: 40,
    reason: expect.stringContaining('Install Redis'),
  })
  expect(await readiness(service.url)).toMatchObject({ status: 200, body: { postgres: 'ok', redis: 'away' } })
  const ada = await register(openClient(service.url))
  const project = await make(ada, '/projects', { name: 'Without Redis' })
  const task = await make(ada, '/tasks', { title: 'Written', projectId: project.id })
  await eventually('the task', async () => (await ada.get(`/tasks/${task.id}`)).status === 200)
  expect(await service.stop()).toBe(0)
})
