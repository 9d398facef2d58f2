import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../drizzle/migrate.ts'
import { freePort } from '../../src/local/server.ts'
import { createArchive } from './evidence.ts'
import { openPostgres, type PostgresServer } from './postgres-server.ts'
import { openReceivers, type Receivers } from './receivers.ts'
import { openRedis, type RedisServer } from './redis-server.ts'
import { ServiceProcess } from './service-process.ts'

export const leaseTtlMs = 1_000

export interface Deployment {
  postgres: PostgresServer
  redis: RedisServer
  receivers: Receivers
  webs: ServiceProcess[]
  worker: ServiceProcess
  env: Record<string, string>
}

/** @param closers Receives a function for each part as soon as the part is started. */
export async function openDeployment(
  closers: (() => Promise<unknown>)[],
  { webs: count, withComparison }: { webs: number; withComparison: boolean },
): Promise<Deployment> {
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'docket-faults-')))
  closers.unshift(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }))
  const postgres = await openPostgres(dataDir)
  closers.unshift(() => postgres.stop())
  const redis = await openRedis(dataDir)
  closers.unshift(() => redis.stop())
  const receivers = await openReceivers()
  closers.unshift(() => receivers.down())
  await migrate(postgres.url)
  await postgres.query(createArchive)
  // The primary key of events would reject the duplicate seqs that the removed comparison allows.
  if (!withComparison)
    await postgres.query((sql) => sql`alter table events drop constraint events_project_id_seq_pk`)
  const env = serviceEnv(postgres.urls, redis.url)
  const preload = withComparison ? undefined : join(import.meta.dirname, 'without-comparison.ts')
  // With different numbers of shards, processes disagree about homes, so several processes write one project.
  const shards = (n: number) => (withComparison ? undefined : { WRITE_SHARDS: String(n + 1) })
  const openWeb = async (_: unknown, n: number) => {
    const own = { ...env, ...shards(n), PORT: String(await freePort()) }
    return new ServiceProcess(`web ${String.fromCharCode(65 + n)}`, { command: 'web', preload, env: own })
  }
  const webs = await Promise.all(Array.from({ length: count }, openWeb))
  const worker = new ServiceProcess('worker', { command: 'worker', preload, env })
  for (const process of [...webs, worker]) closers.unshift(() => process.kill())
  await Promise.all([...webs, worker].map((process) => process.start()))
  return { postgres, redis, receivers, webs, worker, env }
}

const serviceEnv = (databaseUrl: string, redisUrl: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  REDIS_URL: redisUrl,
  JWT_SECRET: 'a secret that is used only by the fault tests',
  LOG_LEVEL: 'error',
  HOST: '127.0.0.1',
  LEASE_TTL_MS: String(leaseTtlMs),
  SWEEP_EVERY_MS: '500',
  JOB_BATCH_ROWS: '20',
  RATE_LIMIT: 'off',
  WEBHOOK_ALLOW_HTTP: 'on',
  WEBHOOK_ALLOW_PRIVATE: 'on',
})
