import process from 'node:process'
import { type Config, withNewNames } from '../config.ts'
import type { Log } from '../log.ts'
import { type Family, ofProcess } from '../metrics/family.ts'
import { Child, type Ending, type Env, type Role } from './child.ts'
import { requireFree, urlsOf } from './port.ts'
import type { Stopping } from './stopping.ts'
import { Supervised } from './supervised.ts'

/** For a child beyond the steps of its drain: its linger on the port, and its end. */
const graceMs = 4_000
const drainSteps = 3 // its server, its workers, its services

interface Options {
  config: Config
  log: Log
  stopping: Stopping
  env: Record<Role, Env>
  hasWorker: boolean
  /** Called as soon as the port is known, before the processes log anything. */
  onPort(port: number): void
}

/** Leads several web processes on one port, and perhaps a worker, as if they were one process. */
export class Supervisor {
  private readonly places: Record<Role, Supervised[]>
  private readonly all: Supervised[]
  private readonly endWithinMs: number
  private port: number
  private isRolling = false
  private shallRollAgain = false

  constructor(private readonly options: Options) {
    const { drainDelayMs, drainTimeoutMs, port, webConcurrency } = options.config
    this.endWithinMs = drainDelayMs + drainSteps * drainTimeoutMs + graceMs
    this.port = port
    const web = Array.from({ length: webConcurrency }, () => this.supervised('web'))
    this.places = { web, worker: options.hasWorker ? [this.supervised('worker')] : [] }
    this.all = Object.values(this.places).flat()
  }

  async start(): Promise<void> {
    const { config, log, stopping, onPort } = this.options
    if (!config.reusePort) await stopping.unlessBegun(requireFree(config))
    stopping.closes('processes', () => this.stop(), this.endWithinMs + graceMs)
    process.on('exit', () => this.all.forEach((one) => one.kill()))
    stopping.onHangUp(() => {
      log.info({ signal: 'SIGHUP' }, 'replacing the processes one after another')
      void this.roll()
    })
    if (this.port > 0) onPort(this.port)
    // One alone first: it reports what is wrong, and the port that the system chose.
    const [first, ...others] = this.all
    const ready = await stopping.unlessBegun(first!.start())
    if (ready?.port && this.port === 0) onPort(ready.port)
    this.port = ready?.port ?? this.port
    const all = ready && (await stopping.unlessBegun(Promise.all(others.map((one) => one.start()))))
    if (!all?.every(Boolean)) return // and so it ends
    const urls = urlsOf({ host: config.host, port: this.port })
    log.info({ ...urls, pid: process.pid, ...this.pids() }, 'listening')
  }

  /** The families of each place under its name, which a new process there keeps. */
  async measure(): Promise<Family[][]> {
    const named = ([role, places]: [string, Supervised[]]) =>
      places.map(async ({ current }, n) => ofProcess(`${role}-${n + 1}`, (await current?.measure()) ?? []))
    return Promise.all(Object.entries(this.places).flatMap(named))
  }

  private pids() {
    const [web, worker] = Object.values(this.places).map((some) => some.map(({ current }) => current?.pid))
    return { web, worker }
  }

  private supervised(role: Role): Supervised {
    const { env, log } = this.options
    return new Supervised({
      start: () => new Child(role, { ...env[role], PORT: String(this.port) }),
      log,
      endWithinMs: this.endWithinMs,
      giveUp: (ending, starts) => void this.giveUp(role, ending, starts),
    })
  }

  private async giveUp(role: Role, { code, signal }: Ending, starts: number): Promise<void> {
    const { stopping } = this.options
    if (starts === 1 && code !== null) return stopping.stop(1) // the child has logged why
    const how = starts > 1 ? `at once, ${starts} times in a row` : `by ${signal} before it was up`
    return stopping.fail(new Error(`The ${role} process ended ${how}`))
  }

  private async stop(): Promise<void> {
    const ends = await Promise.all(this.all.map((one) => one.stop()))
    if (ends.includes(false)) throw new Error('a process did not end well')
  }

  private async roll(): Promise<void> {
    if (this.isRolling) return void (this.shallRollAgain = true)
    this.isRolling = true
    do {
      this.shallRollAgain = false
      await this.replaceAll()
    } while (this.shallRollAgain)
    this.isRolling = false
  }

  private async replaceAll(): Promise<void> {
    const { log, stopping } = this.options
    for (const one of this.all) {
      if (await stopping.unlessBegun(one.replace())) continue
      return log.error('the new process does not come up: the others stay as they are')
    }
    log.info(this.pids(), 'all processes are replaced')
  }
}

/** The environments of children: the parent's with the servers that it has started. */
export function childEnvs(config: Config, given: Env): Record<Role, Env> {
  const { databaseUrl: DATABASE_URL, redisUrl: REDIS_URL, jwtSecret: JWT_SECRET } = config
  const alone = { WEB_CONCURRENCY: '1', REUSE_PORT: 'on', HOME_PORT: '0' }
  const worker = { ...withNewNames(given), DATABASE_URL, REDIS_URL, JWT_SECRET, ...alone }
  return { web: { ...sharedPools(config), ...worker }, worker }
}

/** Six processes with full pools, a worker and a successor have 88 connections. Postgres accepts 100 by default. */
const fullProcesses = 6

type Pools = Pick<Config, 'webConcurrency' | 'readConnections' | 'backgroundConnections' | 'commitSlots'>

/** The default pools of one of many web processes: more than six share the connections of six. */
export function sharedPools({ webConcurrency, readConnections, backgroundConnections, commitSlots }: Pools) {
  const share = (all: number) =>
    String(Math.max(1, Math.min(all, Math.floor((all * fullProcesses) / webConcurrency))))
  return {
    READ_CONNECTIONS: share(readConnections),
    BACKGROUND_CONNECTIONS: share(backgroundConnections),
    COMMIT_SLOTS: share(commitSlots),
  }
}
