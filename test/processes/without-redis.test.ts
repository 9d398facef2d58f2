import { expect, test } from 'bun:test'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../races/pair.ts'
import { make, openClient, register } from '../support/client.ts'
import { newFolder, spawnService } from '../support/service.ts'
import { readiness } from './launch.ts'

/** What the own Postgres needs of the system when root starts it. */
const programs = ['id', 'chown', 'setpriv', 'sh']
const dir = await newFolder()
await mkdir(join(dir, 'bin'))
for (const name of programs) await symlink(Bun.which(name)!, join(dir, 'bin', name))

test.each(['1', '2'])(
  'start without a Redis server and without a way to install one warns once and serves; processes: %s',
  async (WEB_CONCURRENCY) => {
    const env = { DATA_DIR: join(dir, 'data'), HOST: '127.0.0.1', PORT: '0', WEB_CONCURRENCY }
    const service = await spawnService('start', { ...env, PATH: join(dir, 'bin') })
    const warnings = service.output.filter((line) => line.includes('starting without Redis'))
    expect(warnings).toEqual([expect.stringContaining('There is neither redis-server nor valkey-server')])
    expect(JSON.parse(warnings[0]!)).toMatchObject({
      level: 40,
      reason: expect.stringContaining('Install Redis'),
    })
    expect(await readiness(service.url)).toMatchObject({
      status: 200,
      body: { postgres: 'ok', redis: 'away' },
    })
    const ada = await register(openClient(service.url))
    const project = await make(ada, '/projects', { name: 'Without Redis' })
    const task = await make(ada, '/tasks', { title: 'Written', projectId: project.id })
    await eventually('it is read', async () => (await ada.get(`/tasks/${task.id}`)).status === 200)
    expect(await service.stop()).toBe(0)
  },
)
