import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { type Local, startLocal } from '../../src/local/start.ts'
import { newFolder, openForEach, until, words } from '../kit.ts'

const endTimeoutMs = 30_000

const forEach = openForEach()
let dataDir: string
beforeEach(async () => void (dataDir = await newFolder("docket's local ", forEach)))

async function start(servers = { postgres: true, redis: true }): Promise<Local> {
  return forEach(startLocal({ dataDir, ...servers, log: () => {} }))
}

async function query<T>(local: Local, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(local.databaseUrl ?? '', { max: 1, fetch_types: false, connect_timeout: 30 })
  return work(sql).finally(() => sql.end({ timeout: 1 }))
}

async function command<T>(local: Local, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(local.redisUrl ?? '', { retryStrategy: () => null, maxRetriesPerRequest: 0 })
  redis.on('error', () => {})
  return work(redis).finally(() => redis.disconnect())
}

const insertRow = (local: Local) =>
  query(local, async (sql) => void (await sql`create table rows as select 'a row' as what`))
const readRow = (local: Local) => query(local, async (sql) => (await sql`select what from rows`)[0]?.what)

const serves = async (local: Local) => ({
  postgres: await query(local, (sql) => sql`select 1`).then(...yesOrNo),
  redis: await command(local, (redis) => redis.ping()).then(...yesOrNo),
})
const yesOrNo = [() => true, () => false] as const

async function killPostgres(): Promise<void> {
  const [pid] = (await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGKILL')
}

async function killRedis(): Promise<void> {
  const { pid } = JSON.parse(await readFile(join(dataDir, 'redis/server.json'), 'utf8'))
  process.kill(pid, 'SIGKILL')
}

test('processes share the servers of a data folder, and the last process stops them', async () => {
  const [first, second] = await Promise.all([start(), start()])
  expect([second.databaseUrl, second.redisUrl]).toEqual([first.databaseUrl, first.redisUrl])
  expect(new URL(first.databaseUrl ?? '').hostname).toBe('127.0.0.1')
  await first.stop()
  await first.stop()
  expect(await serves(second)).toEqual({ postgres: true, redis: true })
  await second.stop()
  expect(await serves(second)).toEqual({ postgres: false, redis: false })
})

test('servers that were stopped or killed start again with all committed data', async () => {
  const first = await start()
  await insertRow(first)
  await command(first, (redis) => redis.set('rows', 'a value'))
  await first.stop()
  const before = await start()
  expect(await command(before, (redis) => redis.get('rows'))).toBe('a value')
  await Promise.all([killPostgres(), killRedis()])
  const hasEnded = async () => ((await serves(before)).postgres ? undefined : true)
  expect(await until(hasEnded, endTimeoutMs)).toBe(true)

  // Starts a second process while the first process uses the folder.
  const beside = await start()
  expect(await serves(beside)).toEqual({ postgres: true, redis: true })
  await killPostgres()
  await Promise.all([before.stop(), beside.stop()])

  // Starts the servers when no other process runs, as after a crash of the machine.
  expect(await readRow(await start({ postgres: true, redis: false }))).toBe('a row')
})

test('starts no server if none is requested, and reports a data folder that is not writable', async () => {
  const none = await start({ postgres: false, redis: false })
  expect([none.databaseUrl, none.redisUrl, await readdir(dataDir)]).toEqual([undefined, undefined, []])
  dataDir = join(dataDir, 'file')
  await writeFile(dataDir, '')
  await expect(start()).rejects.toThrow(`DATA_DIR ${dataDir} cannot be used by this user: EEXIST`)
})

test.each([
  ['PG_VERSION', '17\n', /^Postgres does not start\. .*incompatible with server/],
  ['postgresql.conf', 'max_wishes = 3\n', /^Postgres does not start\. .*postgres\.log"?\)$/],
])(
  'reports in one line why Postgres does not start, and changes nothing: %s',
  async (name, text, message) => {
    await (await start({ postgres: true, redis: false })).stop()
    const file = join(dataDir, 'postgres', name)
    await writeFile(file, text)
    await expect(start({ postgres: true, redis: false })).rejects.toThrow(message)
    expect(await readFile(file, 'utf8')).toContain(text)
  },
)

test('only clients with the password may use the local Redis, also after a restart, and only the owner can read it', async () => {
  for (let n = 0; n < 2; n++) {
    const local = await start()
    const { port, password } = new URL(local.redisUrl ?? '')
    expect(password).toMatch(/^[\w-]{32}$/)
    const unauthenticated = { ...local, redisUrl: `redis://127.0.0.1:${port}` }
    await expect(command(unauthenticated, (redis) => redis.flushall())).rejects.toThrow('NOAUTH')
    expect(await serves(local)).toEqual({ postgres: true, redis: true })
    const { pid } = JSON.parse(await readFile(join(dataDir, 'redis/server.json'), 'utf8'))
    expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(password)
    for (const name of words(
      'postgres redis postgres.log redis.log postgres/docket.password redis/docket.conf',
    ))
      expect([name, (await stat(join(dataDir, name))).mode & 0o077]).toEqual([name, 0])
    await local.stop()
  }
})
