import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually, forFile, freshEnv, make, newFolder, openClient, register, spawnService } from '../kit.ts'
import type { ServiceProcess } from '../kit.ts'
import { startOnOwnPort } from '../support/own-port.ts'
import { beginOnTerminal, readiness } from './launch.ts'

/** Checks that a service prints its URLs first, and logs JSON afterwards. */
function expectBanner({ output, url }: ServiceProcess, host = new URL(url).host): void {
  const [api, docs, ...others] = output
  expect([api, docs]).toEqual([`API         http://${host}/api/v1`, `Swagger UI  http://${host}/api/docs`])
  const messages = others.map((line) => JSON.parse(line).msg as string)
  for (const message of ['database migrations are complete', 'working', 'listening'])
    expect(messages).toContain(message)
}

async function createAndDelete(url: string): Promise<void> {
  const ada = await register(openClient(url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Doomed' })
  await make(ada, '/tasks', { title: 'Doomed', projectId })
  await ada.delete(`/projects/${projectId}`)
}

async function countOf(databaseUrl: string, table: string): Promise<number> {
  const sql = new Bun.SQL(databaseUrl, { max: 1 })
  const [row] = (await sql`select count(*)::int4 as n from ${sql(table)}`) as { n: number }[]
  await sql.close()
  return row!.n
}

const purged = (databaseUrl: string) =>
  eventually('the deletion of all rows', async () => {
    const counts = ['tasks', 'events', 'streams', 'outbox'].map((table) => countOf(databaseUrl, table))
    return (await Promise.all(counts)).every((n) => n === 0)
  })

test.each([
  ['0', '1', '127.0.0.1'],
  ['0', '2', '127.0.0.1'],
  ['chosen', '1', '0.0.0.0'],
])('start serves requests and runs jobs; PORT: %s, processes: %s, HOST: %s', async (port, n, HOST) => {
  const { env } = await forFile(freshEnv({ HOST, WEB_CONCURRENCY: n }))
  const { started: service } = await startOnOwnPort((own) =>
    spawnService('start', { ...env, PORT: port === '0' ? port : String(own) }),
  )
  expectBanner(service, HOST === '0.0.0.0' ? `localhost:${new URL(service.url).port}` : undefined)
  await createAndDelete(service.url)
  await purged(env.DATABASE_URL!)
  expect(await service.stop()).toBe(0)
})

test('a web process serves requests, a separate worker runs the jobs, and both log only JSON', async () => {
  const { env } = await forFile(freshEnv())
  const web = await spawnService('web', env)
  await createAndDelete(web.url)
  expect(await countOf(env.DATABASE_URL!, 'streams')).toBe(1)
  const worker = await spawnService('worker', env)
  await purged(env.DATABASE_URL!)
  expect([await web.stop(), await worker.stop()]).toEqual([0, 0])
  for (const line of [...web.output, ...worker.output]) expect(JSON.parse(line).msg).toBeString()
})

test('on a terminal, log lines are human-readable', async () => {
  const { env } = await forFile(freshEnv({ LOG_LEVEL: 'info' }))
  const service = beginOnTerminal('start', env)
  await eventually('the log line "listening"', () => service.output().includes('listening'))
  service.type('\x03')
  expect(await service.ended).toBe(0)
  const text = service.output().replace(/\x1b\[\d*m/g, '')
  const [api, docs, first] = text.split(/\r?\n/)
  expect([api, docs].map((line) => line!.replace(/:\d+/, ':…'))).toEqual([
    'API         http://127.0.0.1:…/api/v1',
    'Swagger UI  http://127.0.0.1:…/api/docs',
  ])
  expect(first).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: database migrations are complete$/)
  expect(text).not.toContain('"level"')
})

test('start in an empty folder without DATABASE_URL and REDIS_URL serves, and keeps data and tokens over a restart', async () => {
  const env = { DATA_DIR: await newFolder(), HOST: '127.0.0.1', PORT: '0' }
  const first = await spawnService('start', env)
  expect(await readiness(first.url)).toMatchObject({ status: 200, body: { postgres: 'ok' } })
  await eventually('Redis to be available', async () => (await readiness(first.url)).body.redis === 'ok')
  const ada = await register(openClient(first.url))
  const project = await make(ada, '/projects', { name: 'Kept' })
  expect(await first.stop()).toBe(0)
  const second = await spawnService('start', env)
  expect((await ada.at(second.url).get(`/projects/${project.id}`)).body).toEqual(project)
  expect(await second.stop()).toBe(0)
})

test.each(['1', '2'])('start warns if it cannot install Redis; processes: %s', async (WEB_CONCURRENCY) => {
  const dir = await newFolder()
  await mkdir(join(dir, 'bin'))
  // Programs that the service needs to start the local Postgres as root.
  for (const name of ['id', 'chown', 'setpriv', 'sh']) await symlink(Bun.which(name)!, join(dir, 'bin', name))
  const env = { DATA_DIR: join(dir, 'data'), HOST: '127.0.0.1', PORT: '0', WEB_CONCURRENCY }
  const service = await spawnService('start', { ...env, PATH: join(dir, 'bin') })
  const warnings = service.output.filter((line) => line.includes('starting without Redis'))
  expect(warnings.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 40,
      reason: expect.stringMatching(/There is neither redis-server nor valkey-server.*Install Redis/s),
    },
  ])
  expect(await readiness(service.url)).toMatchObject({ status: 200, body: { postgres: 'ok', redis: 'away' } })
  await createAndDelete(service.url)
  expect(await service.stop()).toBe(0)
})
