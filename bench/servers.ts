import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { migrate } from '../drizzle/migrate.ts'
import { freePort } from '../src/local/server.ts'
import { startLocal } from '../src/local/start.ts'
import { type ServiceProcess, spawnService } from '../test/support/service.ts'

type Env = Record<string, string>
export type Servers = Awaited<ReturnType<typeof startServers>>

/** Functions that stop what was started, in order. Filled during the start, in case it is interrupted. */
export type Closers = (() => Promise<unknown>)[]

/** Starts an empty, migrated Postgres and a Redis; `synchronous_commit` stays on. `folder` is deleted at the end. */
export async function startServers(closers: Closers) {
  const folder = await mkdtemp(join(tmpdir(), 'docket-bench-'))
  closers.unshift(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  const starting = startLocal({ dataDir: folder, postgres: true, redis: true, log: () => {} })
  closers.unshift(async () => (await starting).stop())
  const { databaseUrl = '', redisUrl = '', withoutRedis } = await starting
  if (withoutRedis) throw new Error(withoutRedis)
  await migrate(databaseUrl)
  const sql = postgres(databaseUrl, { max: 4, onnotice: () => {} })
  closers.unshift(() => sql.end({ timeout: 1 }))
  const processes = openProcesses(closers, sql, settings(databaseUrl, redisUrl), await freePort())
  const [line = ''] = (await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')
  const redis = JSON.parse(await readFile(join(folder, 'redis', 'server.json'), 'utf8')) as { pid: number }
  const pids = { postgres: [Number(line)], redis: [redis.pid], ...processes.pids }
  return { folder, databaseUrl, redisUrl, sql, ...processes, pids }
}

function openProcesses(closers: Closers, sql: postgres.Sql, env: Env, ownPort: number) {
  const webs: ServiceProcess[] = []
  const workers: ServiceProcess[] = []
  const all = [webs, workers]
  const end = (some: ServiceProcess[]) => Promise.all(some.splice(0).map((one) => one.stop()))
  closers.unshift(() => Promise.all(all.map(end)))
  const begin = async (into: ServiceProcess[], count: number, port: number, own: Env = {}) => {
    const starting = Array.from({ length: count }, () =>
      spawnService('web', { ...env, PORT: String(port), ...own }),
    )
    into.push(...(await Promise.all(starting)))
  }
  return {
    url: urlOf(ownPort),
    pids: { web: () => webs.map(({ pid }) => pid), worker: () => workers.map(({ pid }) => pid) },
    /** Starts or stops web processes, which share a port, until `count` run. */
    async web(count: number, own?: Env): Promise<void> {
      if (webs.length === count) return
      await end(webs)
      await begin(webs, count, ownPort, own)
    },
    /** Starts a second service with its own database. */
    async beside(count: number, own?: Env) {
      const [port, set]: [number, ServiceProcess[]] = [await freePort(), []]
      all.push(set)
      const DATABASE_URL = await createDatabase(sql, env.DATABASE_URL!, `beside_${port}`)
      await begin(set, count, port, { DATABASE_URL, REDIS_PREFIX: `docket-${port}`, ...own })
      return { url: urlOf(port), pids: set.map(({ pid }) => pid), end: () => end(set) }
    },
    async withWorker<T>(work: () => Promise<T>): Promise<T> {
      workers.push(await spawnService('worker', env))
      return work().finally(() => end(workers))
    },
  }
}

const urlOf = (port: number) => `http://127.0.0.1:${port}`

async function createDatabase(sql: postgres.Sql, firstUrl: string, name: string): Promise<string> {
  await sql.unsafe(`create database ${name}`)
  const { href } = Object.assign(new URL(firstUrl), { pathname: `/${name}` })
  await migrate(href)
  return href
}

/** The settings of an operator, but without rate limits. */
const settings = (databaseUrl: string, redisUrl: string) => ({
  ...{ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, JWT_SECRET: randomBytes(32).toString('hex') },
  ...{ NODE_ENV: 'production', HOST: '127.0.0.1', REUSE_PORT: 'on', RATE_LIMIT: 'off' },
  ...{ WEBHOOK_ALLOW_HTTP: 'on', WEBHOOK_ALLOW_PRIVATE: 'on' },
})
