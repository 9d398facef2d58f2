import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Log } from '../logger.ts'
import { type Family, withProcessLabel } from '../metrics/counts.ts'
import { type Child, type Exit, type Env, type Role, startChild } from './child.ts'
import { requireFree, urlsOf } from './port.ts'
import type { Shutdown } from './shutdown.ts'

/** Time for a child to exit, added to the time of its drain. */
const graceMs = 4_000
/** A child drains its server, its workers and its services one after another. */
const drainSteps = 3

interface Options {
  config: Config
  log: Log
  shutdown: Shutdown
  env: Record<Role, Env>
  hasWorker: boolean
  onPort(port: number): void
}

export class Supervisor {
  private readonly slots: ChildSlot[]
  private readonly stopTimeoutMs: number
  private port: number
  private isRolling = false
  private rollAgain = false

  constructor(private readonly options: Options) {
    const { drainDelayMs, drainTimeoutMs, port, webConcurrency } = options.config
    this.stopTimeoutMs = drainDelayMs + drainSteps * drainTimeoutMs + graceMs
    this.port = port
    const web = Array.from({ length: webConcurrency }, () => this.createSlot('web'))
    this.slots = options.hasWorker ? [...web, this.createSlot('worker')] : web
  }

  async start(): Promise<void> {
    const { config, log, shutdown, onPort } = this.options
    if (!config.reusePort) await shutdown.unlessStopping(requireFree(config))
    shutdown.onClose('processes', () => this.stop(), this.stopTimeoutMs + graceMs)
    process.on('exit', () => this.slots.forEach((slot) => slot.kill()))
    shutdown.onHangUp(() => {
      log.info({ signal: 'SIGHUP' }, 'rolling restart')
      void this.roll()
    })
    if (this.port > 0) onPort(this.port)
    // The first child starts alone: it logs an error that every child would log, and reports the port that the system
    // chose.
    const [first, ...others] = this.slots
    const ready = await shutdown.unlessStopping(first!.start())
    if (ready?.port && this.port === 0) onPort(ready.port)
    this.port = ready?.port ?? this.port
    const all = ready && (await shutdown.unlessStopping(Promise.all(others.map((slot) => slot.start()))))
    if (!all?.every(Boolean)) return
    const urls = urlsOf({ host: config.host, port: this.port })
    log.info({ ...urls, pid: process.pid, ...this.pids() }, 'listening')
  }

  /** The label is the name of the slot, because a process id would change at each restart. */
  measure(): Promise<Family[][]> {
    const web = this.slots.filter(({ role }) => role === 'web')
    const nameOf = (slot: ChildSlot) => `${slot.role}-${Math.max(web.indexOf(slot), 0) + 1}`
    return Promise.all(
      this.slots.map(async (slot) => withProcessLabel(nameOf(slot), (await slot.current?.measure()) ?? [])),
    )
  }

  private pids() {
    const of = (wanted: Role) =>
      this.slots.filter(({ role }) => role === wanted).map(({ current }) => current?.pid)
    return { web: of('web'), worker: of('worker') }
  }

  private createSlot(role: Role): ChildSlot {
    const { env, log, shutdown } = this.options
    const start = () => startChild(role, { ...env[role], PORT: String(this.port) })
    const giveUp = ({ code, signal }: Exit, starts: number) => {
      if (starts === 1 && code !== null) return void shutdown.stop(1)
      const ending =
        starts > 1 ? `right after its start, ${starts} times` : `by ${signal} before it was ready`
      void shutdown.fail(new Error(`The ${role} process ended ${ending}`))
    }
    return new ChildSlot(role, { start, giveUp, log, stopTimeoutMs: this.stopTimeoutMs })
  }

  private async stop(): Promise<void> {
    const ends = await Promise.all(this.slots.map((slot) => slot.stop()))
    if (ends.includes(false)) throw new Error('a child process failed to stop')
  }

  private async roll(): Promise<void> {
    if (this.isRolling) return void (this.rollAgain = true)
    this.isRolling = true
    do {
      this.rollAgain = false
      await this.replaceAll()
    } while (this.rollAgain)
    this.isRolling = false
  }

  private async replaceAll(): Promise<void> {
    const { log, shutdown } = this.options
    for (const slot of this.slots) {
      if (await shutdown.unlessStopping(slot.replace())) continue
      return log.error('a new process did not start: the current processes keep running')
    }
    log.info(this.pids(), 'rolling restart finished')
  }
}

const stableMs = 1_000
const maxFailedStarts = 6
const minPauseMs = 100

interface SlotOptions {
  start(): Child
  giveUp(exit: Exit, starts: number): void
  log: Log
  stopTimeoutMs: number
}

class ChildSlot {
  current: Child | undefined
  private readonly alive = new Set<Child>()
  private hasBeenUp = false
  private failedStarts = 0
  private isStopping = false

  constructor(
    readonly role: Role,
    private readonly options: SlotOptions,
  ) {}

  async start() {
    const child = this.spawn()
    this.setCurrent(child)
    const ready = await child.ready
    this.hasBeenUp ||= ready !== undefined
    return ready
  }

  async replace(): Promise<boolean> {
    const successor = this.spawn()
    if (!(await successor.ready)) return false
    const previous = this.current
    this.setCurrent(successor)
    await previous?.stop('retire', this.options.stopTimeoutMs)
    return true
  }

  /** Returns false if a process did not exit with code 0. */
  async stop(): Promise<boolean> {
    this.isStopping = true
    const ends = [...this.alive].map((child) => child.stop('stop', this.options.stopTimeoutMs))
    return (await Promise.all(ends)).every(({ code }) => code === 0)
  }

  kill(): void {
    for (const child of this.alive) child.kill()
  }

  private spawn(): Child {
    const child = this.options.start()
    this.alive.add(child)
    void child.exited.then(() => this.alive.delete(child))
    return child
  }

  private setCurrent(child: Child): void {
    this.current = child
    void child.exited.then((exit) => this.restart(child, exit))
  }

  private async restart(child: Child, exit: Exit): Promise<void> {
    const isObsolete = () => this.isStopping || child !== this.current
    if (isObsolete()) return
    this.failedStarts = child.uptimeMs() < stableMs ? this.failedStarts + 1 : 0
    const { log, giveUp } = this.options
    if (!this.hasBeenUp || this.failedStarts >= maxFailedStarts) return giveUp(exit, this.failedStarts)
    const restartInMs = minPauseMs * 2 ** this.failedStarts
    log.error({ ended: child.pid, ...exit, restartInMs }, 'a child process ended unexpectedly')
    await sleep(restartInMs)
    if (isObsolete()) return
    if (await this.start()) log.info({ started: this.current?.pid }, 'the child process was replaced')
  }
}

export function childEnvs(config: Config, given: Env): Record<Role, Env> {
  const { databaseUrl: DATABASE_URL, redisUrl: REDIS_URL, jwtSecret: JWT_SECRET } = config
  const common = { WEB_CONCURRENCY: '1', REUSE_PORT: 'on', HOME_PORT: '0' }
  const worker = { ...given, DATABASE_URL, REDIS_URL, JWT_SECRET, ...common }
  return { web: { ...sharedPools(config), ...worker }, worker }
}

/** With six web processes, at most 88 connections exist, even during a restart. Postgres allows 100 by default. */
const fullProcesses = 6

type Pools = Pick<Config, 'webConcurrency' | 'readConnections' | 'backgroundConnections' | 'commitSlots'>

/** Returns the default pool sizes of a web process. Beyond six processes, the total of connections no longer grows. */
export function sharedPools({ webConcurrency, readConnections, backgroundConnections, commitSlots }: Pools) {
  const share = (all: number) =>
    String(Math.max(1, Math.min(all, Math.floor((all * fullProcesses) / webConcurrency))))
  return {
    READ_CONNECTIONS: share(readConnections),
    BACKGROUND_CONNECTIONS: share(backgroundConnections),
    COMMIT_SLOTS: share(commitSlots),
  }
}
