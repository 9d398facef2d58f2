import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../drizzle/migrate.ts'
import { freePort } from '../../src/local/server.ts'
import { createArchive } from './evidence.ts'
import { openPostgres, type PostgresServer } from './postgres-server.ts'
import { openReceivers, type Receivers } from './deliveries.ts'
import { type ServiceProcess as Running, spawnService } from '../support/service.ts'
import { eventually } from '../races/pair.ts'
import { freshRedis, type FreshRedis } from '../support/redis.ts'
import { masterName, openSentinel, sendCommand } from '../support/redis-group.ts'
import type { Fault } from './faults.ts'
import { terminateConnections } from '../support/database.ts'

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

const stopTimeoutMs = 20_000

interface Settings {
  command: 'web' | 'worker'
  env: Record<string, string>
  preload?: string
}

export class ServiceProcess {
  readonly url: string
  private running: Promise<Running | undefined> = Promise.resolve(undefined)
  private readonly runs: Running[] = []

  constructor(
    readonly name: string,
    private readonly settings: Settings,
  ) {
    this.url = `http://127.0.0.1:${settings.env.PORT}`
  }

  /** The lines of all runs that are errors, or not from the log. */
  get errors(): string[] {
    const isError = (line: string) => !line.startsWith('{') || JSON.parse(line).level >= 50
    return this.runs.flatMap(({ output }) => output.filter(isError))
  }

  async start(): Promise<void> {
    const { command, env, preload } = this.settings
    const starting = spawnService(command, env, preload ? ['--preload', preload] : [])
    this.running = starting.catch(() => undefined)
    this.runs.push(await starting)
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    ;(await this.running)?.signal(name)
  }

  async kill(): Promise<void> {
    await (await this.running)?.close()
  }

  /** Stops the process with SIGTERM. Returns false if it had to be killed after 20 s. */
  async stop(): Promise<boolean> {
    await this.signal('SIGCONT')
    const late = new Promise((resolve) => setTimeout(resolve, stopTimeoutMs, 'late'))
    const inTime = (await Promise.race([(await this.running)?.stop(), late])) !== 'late'
    if (!inTime) await this.kill()
    return inTime
  }
}

/** One hour, so that the sentinel fails over only on command. */
const sentinel = { quorum: 1, downMs: 3_600_000 }

export type RedisServer = Awaited<ReturnType<typeof openRedis>>

export async function openRedis(dataDir: string) {
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

    /** Starts a failover to the replica, and returns a function that waits for the end of the failover. */
    async failOver(): Promise<() => Promise<void>> {
      // The sentinel rejects the command until the replica has caught up.
      await eventually('the sentinel to accept the failover', () =>
        watcher.command('SENTINEL', 'FAILOVER', masterName).then(...yesOrNo),
      )
      ;[master, replica] = [replica, master]
      return () =>
        eventually(
          'the replica to become the master',
          async () => (await isIn(master, 'master')) && (await isIn(replica, 'slave')),
        )
    },

    async stop() {
      await watcher.kill()
      await Promise.all([master.stop(), replica.stop()])
    },
  }
}

const yesOrNo = [() => true, () => false] as const

const webKilled: Fault = async ({ deployment, random, web, start }) => {
  start()
  await deployment.webs[web]!.kill()
  await Bun.sleep(random.between(0, 400))
  await deployment.webs[web]!.start()
}

const webStopped: Fault = async ({ deployment, web, start }) => {
  start()
  await deployment.webs[web]!.stop()
  await deployment.webs[web]!.start()
}

/** Freezes the process until its leases have expired. */
const webFrozen: Fault = async ({ deployment, random, web, probe, start }) => {
  start()
  await deployment.webs[web]!.signal('SIGSTOP')
  const thaw = Bun.sleep(random.between(1.3, 3) * leaseTtlMs)
  await probe.takeOver(web, (web + 1) % deployment.webs.length)
  await thaw
  await deployment.webs[web]!.signal('SIGCONT')
}

const workerKilled: Fault = async ({ deployment, random, start }) => {
  start()
  await deployment.worker.kill()
  await Bun.sleep(random.between(0, 400))
  await deployment.worker.start()
}

const workerFrozen: Fault = async ({ deployment, random, start }) => {
  start()
  await deployment.worker.signal('SIGSTOP')
  // The lock of a job expires within 16 s, so that BullMQ gives the job to another worker.
  await Bun.sleep(random.chance(0.2) ? 16_000 : random.between(500, 3_000))
  await deployment.worker.signal('SIGCONT')
}

export const processFaults = {
  'web killed': webKilled,
  'web stopped and started': webStopped,
  'web frozen': webFrozen,
  'worker killed': workerKilled,
  'worker frozen': workerFrozen,
}

const restart =
  (data: 'keep' | 'delete'): Fault =>
  async ({ deployment: { redis }, random, start }) => {
    start()
    redis.kill()
    await Bun.sleep(random.between(0, 1_500))
    await redis.restart(data)
  }

const frozen: Fault = async ({ deployment: { redis }, random, start }) => {
  start()
  redis.freeze()
  await Bun.sleep(random.between(500, 2_500))
  redis.thaw()
}

const flushed: Fault = async ({ deployment: { redis }, start }) => {
  start()
  await redis.send('FLUSHALL')
}

const cut: Fault = async ({ deployment: { redis }, start }) => {
  start()
  for (const type of ['normal', 'pubsub']) await redis.send('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
}

const onEveryLease =
  (command: string): Fault =>
  async ({ deployment: { redis }, random, start }) => {
    const script = `for _, key in ipairs(redis.call('keys', '*:lease:*')) do ${command} end`
    start()
    const until = performance.now() + random.between(100, 1_000)
    do {
      await redis.send('EVAL', script, '0')
      await Bun.sleep(random.between(1, 30))
    } while (performance.now() < until)
  }

const switched: Fault = async ({ deployment: { redis }, start }) => {
  const finish = await redis.failOver()
  start()
  await finish()
}

export const redisFaults = {
  'redis killed, back empty': restart('delete'),
  'redis killed, back with its data': restart('keep'),
  'redis frozen': frozen,
  'redis flushed': flushed,
  'redis connections cut': cut,
  'redis switched to its replica': switched,
  'leases expired': onEveryLease(`redis.call('del', key)`),
  'leases stolen': onEveryLease(`redis.call('set', key, 'unknown holder', 'px', ${leaseTtlMs})`),
}

const away: Fault = async ({ deployment: { receivers }, random, start }) => {
  start()
  await receivers.down()
  await Bun.sleep(random.between(500, 4_000))
  await receivers.up()
}

const silent: Fault = async ({ deployment: { receivers }, random, start }) => {
  start()
  receivers.behave('silent')
  await Bun.sleep(random.between(500, 4_000))
  receivers.behave()
}

export const receiverFaults = { 'receivers away': away, 'receivers silent': silent }

const tornDown: Fault = async ({ deployment: { postgres }, random, start }) => {
  start()
  await postgres.stopImmediately()
  await Bun.sleep(random.between(0, 500))
  await postgres.start()
}

const terminated: Fault = ({ deployment: { postgres }, start }) =>
  postgres.query(async (sql) => {
    await sql`select 1`
    start()
    await terminateConnections(sql)
  })

/** After the crash of one backend, Postgres ends all backends, recovers from its log and accepts connections again. */
const crashed: Fault = ({ deployment: { postgres }, start }) =>
  postgres.query(async (sql) => {
    const [backend] = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name = 'docket' limit 1`
    start()
    if (backend) process.kill(backend.pid, 'SIGKILL')
  })

/** Promotes a standby that has all acknowledged writes. The old primary stays down. */
const failedOver: Fault = async ({ deployment: { postgres }, random, start }) => {
  await postgres.startStandby({ synchronous: true })
  start()
  await postgres.killPrimary()
  await Bun.sleep(random.between(0, 500))
  await postgres.promote()
}

export const postgresFaults = {
  'postgres torn down': tornDown,
  'postgres connections terminated': terminated,
  'postgres backend crashed': crashed,
  'postgres failed over': failedOver,
}
