import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../drizzle/migrate.ts'
import { freePort } from '../../src/local/port.ts'
import { keepArchive } from './evidence.ts'
import { openPostgres, type PostgresServer } from './postgres-server.ts'
import { openReceivers, type Receivers } from './receivers.ts'
import { openRedis, type RedisServer } from './redis-server.ts'
import { ServiceProcess } from './service-process.ts'

export const leaseTtlMs = 1_000

export interface Stand {
  postgres: PostgresServer
  redis: RedisServer
  receivers: Receivers
  webs: ServiceProcess[]
  worker: ServiceProcess
  env: Record<string, string>
}

/** Starts it all. `closers` get what must be undone from the moment there is something to undo. */
export async function openStand(
  closers: (() => Promise<unknown>)[],
  { webs: count, withComparison }: { webs: number; withComparison: boolean },
): Promise<Stand> {
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'docket-faults-')))
  closers.unshift(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }))
  const postgres = await openPostgres(dataDir)
  closers.unshift(() => postgres.stop())
  const redis = await openRedis(dataDir)
  closers.unshift(() => redis.stop())
  const receivers = await openReceivers()
  closers.unshift(() => receivers.down())
  await migrate(postgres.url)
  await postgres.ask(keepArchive)
  // The events' primary key is a second guard behind the comparison; without both, everything gets through.
  if (!withComparison)
    await postgres.ask((sql) => sql`alter table events drop constraint events_project_id_seq_pk`)
  const env = serviceEnv(postgres.urls, redis.url)
  const preload = withComparison ? undefined : join(import.meta.dirname, 'without-comparison.ts')
  // Without the comparison all shall go wrong that can: then each process sees another home for every project.
  const homes = (n: number) => (withComparison ? undefined : { WRITE_SHARDS: String(n + 1) })
  const web = async (name: string, n: number) => {
    const own = { ...env, ...homes(n), PORT: String(await freePort()) }
    return new ServiceProcess(name, { command: 'web', preload, env: own })
  }
  const names = Array.from({ length: count }, (_, n) => `web ${String.fromCharCode(65 + n)}`)
  const webs = await Promise.all(names.map(web))
  const worker = new ServiceProcess('worker', { command: 'worker', preload, env })
  for (const process of [...webs, worker]) closers.unshift(() => process.kill())
  await Promise.all([...webs, worker].map((process) => process.start()))
  return { postgres, redis, receivers, webs, worker, env }
}

const serviceEnv = (databaseUrl: string, redisUrl: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  REDIS_URL: redisUrl,
  JWT_SECRET: 'a secret that is only good for finding faults',
  LOG_LEVEL: 'error',
  HOST: '127.0.0.1',
  LEASE_TTL_MS: String(leaseTtlMs),
  SWEEP_EVERY_MS: '500',
  JOB_BATCH_ROWS: '20',
  RATE_LIMIT: 'off',
  WEBHOOK_ALLOW_HTTP: 'on',
  WEBHOOK_ALLOW_PRIVATE: 'on',
})
