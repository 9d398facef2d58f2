import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../drizzle/migrate.ts'
import { freePort } from '../../src/local/server.ts'
import { eventually } from '../races/pair.ts'
import { freshRedis, type FreshRedis, sendCommand } from '../support/redis.ts'
import { masterName, openSentinel } from '../support/redis-group.ts'
import { type ServiceProcess as Running, spawnService } from '../support/service.ts'
import { createArchive } from './evidence.ts'
import { openPostgres, type PostgresServer } from './postgres-server.ts'
import { openReceivers, type Receivers } from './receivers.ts'

export const leaseTtlMs = 1_000
const stopTimeoutMs = 20_000

export interface Deployment {
  postgres: PostgresServer
  redis: Awaited<ReturnType<typeof openRedis>>
  receivers: Receivers
  webs: ServiceProcess[]
  worker: ServiceProcess
  env: Record<string, string>
}

/** @param closers Receives a function for each part as soon as the part is started. */
export async function openDeployment(
  closers: (() => Promise<unknown>)[],
  { webs: count }: { webs: number },
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
  const env = {
    ...{ DATABASE_URL: postgres.urls, REDIS_URL: redis.url, HOST: '127.0.0.1' },
    ...{ JWT_SECRET: 'a secret that is used only by the fault tests', LOG_LEVEL: 'error' },
    ...{ LEASE_TTL_MS: String(leaseTtlMs), SWEEP_EVERY_MS: '500', JOB_BATCH_ROWS: '20', RATE_LIMIT: 'off' },
    WRITE_SHARDS: '2',
    ...{ WEBHOOK_ALLOW_HTTP: 'on', WEBHOOK_ALLOW_PRIVATE: 'on' },
  }
  const openWeb = async () => openProcess('web', { ...env, PORT: String(await freePort()) })
  const webs = await Promise.all(Array.from({ length: count }, openWeb))
  const worker = openProcess('worker', env)
  for (const process of [...webs, worker]) closers.unshift(() => process.kill())
  await Promise.all([...webs, worker].map((process) => process.start()))
  return { postgres, redis, receivers, webs, worker, env }
}

export type ServiceProcess = ReturnType<typeof openProcess>

/** A process that can be started again on the same port. */
function openProcess(command: 'web' | 'worker', env: Record<string, string>) {
  let running: Promise<Running | undefined> = Promise.resolve(undefined)
  const runs: Running[] = []
  const one = {
    url: `http://127.0.0.1:${env.PORT}`,
    /** Returns the lines of all runs that are errors, or not from the log. */
    errors: (): string[] =>
      runs.flatMap(({ output }) =>
        output.filter((line) => !line.startsWith('{') || JSON.parse(line).level >= 50),
      ),
    async start(): Promise<void> {
      const starting = spawnService(command, env)
      running = starting.catch(() => undefined)
      runs.push(await starting)
    },
    signal: async (name: NodeJS.Signals) => void (await running)?.signal(name),
    kill: async () => void (await (await running)?.close()),
    /** Stops the process with SIGTERM. Returns false if it had to be killed after 20 s. */
    async stop(): Promise<boolean> {
      await one.signal('SIGCONT')
      const late = new Promise((resolve) => setTimeout(resolve, stopTimeoutMs, 'late'))
      const inTime = (await Promise.race([(await running)?.stop(), late])) !== 'late'
      if (!inTime) await one.kill()
      return inTime
    },
  }
  return one
}

/** One hour, so that the sentinel fails over only on command. */
const sentinel = { quorum: 1, downMs: 3_600_000 }
const yesOrNo = [() => true, () => false] as const

async function openRedis(dataDir: string) {
  let [master, replica] = await Promise.all([freshRedis(dataDir), freshRedis(dataDir)])
  const send = ({ port }: FreshRedis, ...command: string[]) => sendCommand({ port }, command)
  await send(replica, 'REPLICAOF', '127.0.0.1', String(master.port))
  const watcher = await openSentinel(join(dataDir, 'sentinel'), master.port, sentinel)
  const isIn = async (one: FreshRedis, role: string) =>
    String(await send(one, 'ROLE').catch(() => '')).startsWith(role)
  return {
    url: `redis+sentinel://127.0.0.1:${watcher.port}/${masterName}`,
    kill: () => master.kill(),
    restart: (data: 'keep' | 'delete') => master.restart(data),
    freeze: () => master.freeze(),
    thaw: () => master.thaw(),
    send: (...command: string[]) => send(master, ...command),
    async failOver(): Promise<void> {
      // The sentinel rejects the command until the replica has caught up.
      await eventually('the sentinel to accept the failover', () =>
        watcher.command('SENTINEL', 'FAILOVER', masterName).then(...yesOrNo),
      )
      ;[master, replica] = [replica, master]
      const isOver = async () => (await isIn(master, 'master')) && (await isIn(replica, 'slave'))
      await eventually('the replica to become the master', isOver)
    },
    async stop() {
      await watcher.kill()
      await Promise.all([master.stop(), replica.stop()])
    },
  }
}
