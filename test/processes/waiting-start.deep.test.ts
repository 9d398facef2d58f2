import { connect, createServer } from 'node:net'
import postgres from 'postgres'
import { eventually, forFile, freePort, freshDatabase, freshEnv, newFolder, newId } from '../kit.ts'
import { spawnService, upTo } from '../kit.ts'
import { begin, emptyDatabase, readiness, run } from './launch.ts'

const { env } = await forFile(freshEnv())

test('several concurrent migrations of an empty database all succeed, and each runs once', async () => {
  const database = await emptyDatabase()
  const runs = await Promise.all(upTo(3).map(() => run('migrate', { ...env, DATABASE_URL: database.url })))
  for (const one of runs) expect(one).toEqual({ code: 0, output: '' })
  const sql = postgres(database.url, { max: 1 })
  const [migrated] =
    await sql`select count(*) = count(distinct hash) as once from drizzle.__drizzle_migrations`
  expect(migrated).toEqual({ once: true })
  await sql.end()
  await database.drop()
})

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
    both.every(({ output }) => output().includes('Postgres cannot be reached')),
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
    await eventually('the log line', () => waiting.output().includes('Postgres cannot be reached'))
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

test('without DATABASE_URL, the jobs command uses the local Postgres of DATA_DIR', async () => {
  const output = '0 dead letters, 0 jobs waiting or running\n'
  expect(await run('jobs', { DATA_DIR: await newFolder() })).toEqual({ code: 0, output })
})
