import { readdir } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { eventually, forFile, freePort, freshDatabase, freshEnv, listen, newFolder, newId } from '../kit.ts'
import { spawnService } from '../kit.ts'
import { begin, emptyDatabase, readiness, run } from './launch.ts'
import postgres from 'postgres'

const serving = ['start', 'web', 'worker']
const { env } = await forFile(freshEnv())

function expectOneLine({ code, output }: { code: number | null; output: string }, ...words: string[]): void {
  expect({ code, lines: output.trim().split('\n') }).toEqual({ code: 1, lines: [expect.any(String)] })
  for (const word of words) expect(output).toContain(word)
  expect(output).not.toMatch(/node_modules| at .*:\d+|^\d+ \|/m)
}

const changed = (change: (url: URL) => void): string => {
  const url = new URL(env.DATABASE_URL!)
  change(url)
  return url.href
}

test('a PORT that is in use is reported before any local server starts', async () => {
  const other = await listen(createServer())
  const port = String(other.port)
  const dataDir = await newFolder('docket taken ')
  const own = { HOST: '127.0.0.1', PORT: port, DATA_DIR: dataDir, LOG_LEVEL: 'warn' }
  expectOneLine(await run('start', own), `PORT ${port} is taken`)
  const metrics = { ...own, PORT: '0', METRICS_PORT: port }
  expectOneLine(await run('start', metrics), `METRICS_PORT ${port} is taken`)
  expectOneLine(await run('start', { ...own, PORT: '0', HOME_PORT: port }), `HOME_PORT ${port} is taken`)
  expectOneLine(await run('start', { ...own, WEB_CONCURRENCY: '2' }), `PORT ${port} is taken`)
  expect(await readdir(dataDir)).toEqual([])
  expectOneLine(await run('web', { ...env, PORT: port }), `PORT ${port} is taken`)
  expectOneLine(await run('worker', { ...env, METRICS_PORT: port }), `METRICS_PORT ${port} is taken`)
  await other.close()
})

const hosts = ['192.0.2.1', 'unknown.invalid', 'localhost:3000', 'http://localhost', 'fe80::1']
test.each(hosts)('HOST=%s, which is not an address of this machine, is reported', async (host) => {
  expectOneLine(await run('web', { ...env, HOST: host }), `HOST "${host}" is not an address`)
  expectOneLine(await run('web', { ...env, HOME_HOST: host }), `HOME_HOST "${host}" is not an address`)
})

const wrong = {
  'a wrong password': [(url: URL) => (url.password = 'wrong'), 'password authentication failed'],
  'an unknown user': [(url: URL) => (url.username = 'nobody'), 'password authentication failed'],
  'an unknown database': [(url: URL) => (url.pathname = 'nowhere'), 'database "nowhere" does not exist'],
} as const

test.each(Object.entries(wrong))('reports %s in DATABASE_URL', async (_, [change, reason]) => {
  const lost = { ...env, DATABASE_URL: changed(change) }
  const runs = await Promise.all([...serving, 'migrate', 'jobs'].map((command) => run(command, lost)))
  for (const one of runs) {
    expectOneLine(one, 'DATABASE_URL', reason)
    expect(one.output).not.toContain(new URL(lost.DATABASE_URL).password)
  }
})

test.each(['web', 'worker'] as const)('%s never migrates the database of DATABASE_URL', async (command) => {
  const database = await emptyDatabase()
  const dataDir = await newFolder()
  const given: Record<string, string> = { ...env, DATABASE_URL: database.url, DATA_DIR: dataDir }
  const { REDIS_URL: _, ...without } = given
  const service = await spawnService(command, without)
  expect(service.output.filter((line) => line.includes('not migrated'))).toHaveLength(1)
  if (command === 'web')
    expect(await readiness(service.url)).toMatchObject({ status: 503, body: { postgres: 'not migrated' } })
  expect(await service.stop()).toBe(0)
  expect((await run('jobs', without)).output).toContain('not migrated')
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

test('migrate exits with 128 + the signal number if a signal interrupts it', async () => {
  const DATABASE_URL = `postgres://127.0.0.1:${await freePort()}/docket`
  const nowhere = { ...env, LOG_LEVEL: 'info', DATABASE_URL }
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    const waiting = begin('migrate', nowhere)
    await eventually('migrate to wait for Postgres', () =>
      waiting.output().includes('Postgres cannot be reached'),
    )
    waiting.signal(signal)
    expect((await waiting.ended).code).toBe(code)
  }
})

const [id, projectId] = [newId(), newId()]
const database = await forFile(freshDatabase())
const parked: Record<string, string> = { DATABASE_URL: database.url, NODE_ENV: 'production' }
const sql = postgres(database.url, { max: 1 })
await sql`insert into outbox (id, project_id, name, data, created_at, attempts, error, parked_at)
  values (${id}, ${projectId}, 'purge-project', '{}', now(), 8, 'P0001: Not today', '2027-01-31 12:00:00+00')`
await sql.end()

test('the jobs command lists and retries dead letters, and rejects an unknown id', async () => {
  expect(await run('jobs', parked)).toEqual({
    code: 0,
    output:
      `${id}  purge-project  project ${projectId}  8 attempts  since 2027-01-31T12:00:00.000Z\n` +
      '  P0001: Not today\n1 dead letter, 0 jobs waiting or running\n',
  })
  const unknown = newId()
  const refused = { code: 1, output: `No dead letter has the id ${unknown}\n` }
  expect(await run('jobs', parked, 'drop', unknown)).toEqual(refused)
  expect(await run('jobs', parked, 'retry', id)).toEqual({ code: 0, output: '1 job will be retried\n' })
  expect((await run('jobs', parked, 'list')).output).toBe('0 dead letters, 1 job waiting or running\n')
  expect((await run('jobs', parked, 'forget')).code).toBe(1)
})

test('the jobs command reports a database that is not migrated', async () => {
  const empty = await emptyDatabase()
  const output = 'The database is not migrated: run npm run migrate first\n'
  expect(await run('jobs', { DATABASE_URL: empty.url })).toEqual({ code: 1, output })
  await empty.drop()
})

test('without DATABASE_URL, the jobs command uses the local Postgres of DATA_DIR', async () => {
  const dir = await newFolder()
  const output = '0 dead letters, 0 jobs waiting or running\n'
  expect(await run('jobs', { DATA_DIR: dir })).toEqual({ code: 0, output })
})
