import { mkdir, symlink } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import postgres from 'postgres'
import { withConnections } from '../../drizzle/migrate.ts'
import { eventually, forFile, freePort, freshDatabase, freshEnv, make, newFolder, newId } from '../kit.ts'
import { openClient, register, spawnService } from '../kit.ts'
import type { ServiceProcess } from '../kit.ts'
import { startOnOwnPort } from '../support/own-port.ts'
import { begin, beginOnTerminal, emptyDatabase, readiness, run } from './launch.ts'

/** Checks that a service prints its URLs first, and logs JSON afterwards. */
function expectBanner({ output, url }: ServiceProcess, host = new URL(url).host): void {
  const [api, docs, ...others] = output
  expect([api, docs]).toEqual([`API         http://${host}/api/v1`, `Swagger UI  http://${host}/api/docs`])
  const messages = others.map((line) => JSON.parse(line).msg as string)
  expect(messages).toContain('listening')
}

async function createAndDelete(url: string): Promise<void> {
  const ada = await register(openClient(url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Doomed' })
  await make(ada, '/tasks', { title: 'Doomed', projectId })
  await ada.delete(`/projects/${projectId}`)
}

const countOf = async (databaseUrl: string, table: string) =>
  (await withConnections(databaseUrl, (sql) => sql`select from ${sql(table)}`)).length

const purged = (databaseUrl: string) =>
  eventually('the deletion of all rows', async () => {
    const counts = ['tasks', 'events', 'streams', 'outbox'].map((table) => countOf(databaseUrl, table))
    return (await Promise.all(counts)).every((n) => n === 0)
  })

test.each([
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
  expect(first).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: listening/)
  expect(text).not.toContain('"level"')
})

test('start warns once if it cannot install Redis, also with two web processes', async () => {
  const dir = await newFolder()
  await mkdir(join(dir, 'bin'))
  // Programs that the service needs to start the local Postgres as root.
  for (const name of ['setpriv', 'sh']) await symlink(Bun.which(name)!, join(dir, 'bin', name))
  const env = { DATA_DIR: join(dir, 'data'), HOST: '127.0.0.1', PORT: '0', WEB_CONCURRENCY: '2' }
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

const { env } = await forFile(freshEnv())

test('web, worker and jobs never migrate the database; a web process is live, and ready when it is migrated', async () => {
  const database = await emptyDatabase()
  const { REDIS_URL: _, ...given }: Record<string, string> = {
    ...{ ...env, DATABASE_URL: database.url, DATA_DIR: await newFolder() },
  }
  const worker = await spawnService('worker', given)
  const web = await spawnService('web', given)
  for (const { output } of [web, worker])
    expect(output.filter((line) => line.includes('not migrated'))).toHaveLength(1)
  expect((await fetch(`${web.url}/health/live`)).status).toBe(200)
  expect(await readiness(web.url)).toMatchObject({ status: 503, body: { postgres: 'not migrated' } })
  const output = 'The database is not migrated: run npm run migrate first\n'
  expect(await run('jobs', { DATABASE_URL: database.url })).toEqual({ code: 1, output })
  expect((await run('migrate', given)).code).toBe(0)
  expect(await readiness(web.url)).toMatchObject({ status: 200, body: { postgres: 'ok' } })
  expect([await web.stop(), await worker.stop()]).toEqual([0, 0])
  await database.drop()
})

test('start and migrate wait until Postgres can be reached, and log that they wait', async () => {
  const database = await emptyDatabase()
  const { port, hostname } = new URL(database.url)
  const unusedPort = await freePort()
  const DATABASE_URL = database.url.replace(`:${port}/`, `:${unusedPort}/`)
  const waiting = { ...env, LOG_LEVEL: 'info', DATABASE_URL }
  const both = [begin('migrate', waiting), begin('start', waiting)]
  await eventually('both commands to wait for Postgres', () =>
    both.every(({ output }) => output().includes('Postgres cannot be used yet')),
  )
  const forward = createServer((socket) => {
    const onward = connect(Number(port), hostname)
    for (const end of [socket, onward]) end.on('error', () => {})
    socket.pipe(onward).pipe(socket)
  })
  await new Promise<void>((resolve) => forward.listen(unusedPort, '127.0.0.1', resolve))
  expect((await both[0]!.ended).code).toBe(0)
  await eventually('start to listen', () => both[1]!.output().includes('"listening"'))
  both[1]!.signal('SIGTERM')
  expect((await both[1]!.ended).code).toBe(0)
  forward.close()
  await database.drop()
})

test.each([['SIGTERM', 143] as const, ['SIGINT', 130] as const])(
  'a migration that waits exits at %s with %d',
  async (signal, code) => {
    const DATABASE_URL = `postgres://127.0.0.1:${await freePort()}/docket`
    const waiting = begin('migrate', { ...env, LOG_LEVEL: 'info', DATABASE_URL })
    await eventually('the log line', () => waiting.output().includes('Postgres cannot be used yet'))
    waiting.signal(signal)
    expect((await waiting.ended).code).toBe(code)
  },
)

test.each([
  ['REDIS_URL', 'redis', { status: 200, body: { postgres: 'ok', redis: 'away' } }],
  ['DATABASE_URL', 'postgres', { status: 503, body: { postgres: 'away' } }],
])('a web process starts without the server of %s', async (name, scheme, expected) => {
  const nowhere = `${scheme}://127.0.0.1:${await freePort()}${scheme === 'postgres' ? '/docket' : ''}`
  const web = await spawnService('web', { ...env, [name]: nowhere })
  expect(await readiness(web.url)).toMatchObject(expected)
  expect(await web.stop()).toBe(0)
})

test('the jobs command lists and retries dead letters, and rejects an unknown id', async () => {
  const [id, projectId, unknown] = [newId(), newId(), newId()]
  const { url } = await forFile(freshDatabase())
  const sql = postgres(url, { max: 1 })
  await sql`insert into outbox (id, project_id, name, data, created_at, attempts, error, parked_at)
    values (${id}, ${projectId}, 'purge-project', '{}', now(), 8, 'P0001: Not today', '2027-01-31 12:00:00+00')`
  await sql.end()
  const jobs = (...words: string[]) => run('jobs', { DATABASE_URL: url, NODE_ENV: 'production' }, ...words)
  expect(await jobs()).toEqual({
    code: 0,
    output:
      `${id}  purge-project  project ${projectId}  8 attempts  since 2027-01-31T12:00:00.000Z\n` +
      '  P0001: Not today\n1 dead letter, 0 jobs waiting or running\n',
  })
  expect(await jobs('drop', unknown)).toEqual({ code: 1, output: `No dead letter has the id ${unknown}\n` })
  expect(await jobs('retry', id)).toEqual({ code: 0, output: '1 job will be retried\n' })
  expect((await jobs('list')).output).toBe('0 dead letters, 1 job waiting or running\n')
  expect((await jobs('forget')).code).toBe(1)
})
