import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { migrate } from '../drizzle/migrate.ts'
import { freePort } from '../src/local/server.ts'
import { startLocal } from '../src/local/start.ts'
import { type ServiceProcess, spawnService } from '../test/support/service.ts'

export interface Servers {
  /** A folder for plans and scripts; deleted at the end. */
  folder: string
  databaseUrl: string
  redisUrl: string
  /** The URL of the service; its web processes share the port. */
  url: string
  sql: postgres.Sql
  pids: { postgres: number[]; redis: number[]; web(): number[]; worker(): number[] }
  /** Starts or stops web processes until `count` run. */
  web(count: number, others?: Record<string, string>): Promise<void>
  /** Starts a second service with its own database. */
  beside(count: number, others?: Record<string, string>): Promise<WebSet>
  withWorker<T>(work: () => Promise<T>): Promise<T>
}

export interface WebSet {
  url: string
  pids: number[]
  end(): Promise<unknown>
}

/** Functions that stop what was started, in order. Filled during the start, in case it is interrupted. */
export type Closers = (() => Promise<unknown>)[]

/** Starts an empty, migrated Postgres and a Redis; `synchronous_commit` stays on. */
export async function startServers(closers: Closers): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-bench-'))
  closers.unshift(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  const starting = startLocal({ dataDir: folder, postgres: true, redis: true, log: () => {} })
  closers.unshift(async () => (await starting).stop())
  const { databaseUrl = '', redisUrl = '', withoutRedis } = await starting
  if (withoutRedis) throw new Error(withoutRedis)
  await migrate(databaseUrl)
  const sql = postgres(databaseUrl, { max: 4, onnotice: () => {} })
  closers.unshift(() => sql.end({ timeout: 1 }))
  const port = await freePort()
  const env = environment(databaseUrl, redisUrl)
  const processes = serviceProcesses(env, port, ownDatabase(sql, databaseUrl))
  closers.unshift(processes.stop)
  const pids = { ...(await serverPids(folder)), web: processes.webPids, worker: processes.workerPids }
  const { web, beside, withWorker } = processes
  return { folder, databaseUrl, redisUrl, url: urlOf(port), sql, pids, web, beside, withWorker }
}

const urlOf = (port: number) => `http://127.0.0.1:${port}`

function serviceProcesses(
  env: Record<string, string>,
  ownPort: number,
  newDatabase: (name: string) => Promise<string>,
) {
  const begin = (count: number, port: number, others: Record<string, string> = {}) =>
    Promise.all(
      Array.from({ length: count }, () => spawnService('web', { ...env, PORT: String(port), ...others })),
    )
  const sets: ServiceProcess[][] = []
  let webs: ServiceProcess[] = []
  let workers: ServiceProcess[] = []
  const end = (processes: ServiceProcess[]) => Promise.all(processes.map((process) => process.stop()))
  return {
    webPids: () => webs.map(({ pid }) => pid),
    workerPids: () => workers.map(({ pid }) => pid),
    async web(count: number, others?: Record<string, string>): Promise<void> {
      if (webs.length === count) return
      await end(webs.splice(0))
      webs = await begin(count, ownPort, others)
    },
    async beside(count: number, others?: Record<string, string>): Promise<WebSet> {
      const port = await freePort()
      const DATABASE_URL = await newDatabase(`beside_${port}`)
      const set = await begin(count, port, { DATABASE_URL, REDIS_PREFIX: `docket-${port}`, ...others })
      sets.push(set)
      return { url: urlOf(port), pids: set.map(({ pid }) => pid), end: () => end(set.splice(0)) }
    },
    async withWorker<T>(work: () => Promise<T>): Promise<T> {
      workers = [await spawnService('worker', env)]
      return work().finally(() => end(workers.splice(0)))
    },
    stop: () => end([...sets.flat(), ...webs.splice(0), ...workers.splice(0)]),
  }
}

const ownDatabase = (sql: postgres.Sql, firstUrl: string) => async (name: string) => {
  await sql.unsafe(`create database ${name}`)
  const url = new URL(firstUrl)
  url.pathname = `/${name}`
  await migrate(url.href)
  return url.href
}

/** The settings of an operator, but without rate limits. */
function environment(databaseUrl: string, redisUrl: string) {
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    JWT_SECRET: randomBytes(32).toString('hex'),
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    REUSE_PORT: 'on',
    RATE_LIMIT: 'off',
    WEBHOOK_ALLOW_HTTP: 'on',
    WEBHOOK_ALLOW_PRIVATE: 'on',
  }
}

async function serverPids(folder: string) {
  const [line = ''] = (await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')
  const redis = JSON.parse(await readFile(join(folder, 'redis', 'server.json'), 'utf8')) as { pid: number }
  return { postgres: [Number(line)], redis: [redis.pid] }
}
