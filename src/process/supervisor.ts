import process from 'node:process'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { type Family, withProcessLabel } from '../metrics/family.ts'
import { Child, type Exit, type Env, type Role } from './child.ts'
import { requireFree, urlsOf } from './port.ts'
import type { Shutdown } from './shutdown.ts'
import { ChildSlot } from './child-slot.ts'

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
  private readonly slots: Record<Role, ChildSlot[]>
  private readonly all: ChildSlot[]
  private readonly stopTimeoutMs: number
  private port: number
  private isRolling = false
  private rollAgain = false

  constructor(private readonly options: Options) {
    const { drainDelayMs, drainTimeoutMs, port, webConcurrency } = options.config
    this.stopTimeoutMs = drainDelayMs + drainSteps * drainTimeoutMs + graceMs
    this.port = port
    const web = Array.from({ length: webConcurrency }, () => this.createSlot('web'))
    this.slots = { web, worker: options.hasWorker ? [this.createSlot('worker')] : [] }
    this.all = Object.values(this.slots).flat()
  }

  async start(): Promise<void> {
    const { config, log, shutdown, onPort } = this.options
    if (!config.reusePort) await shutdown.unlessStopping(requireFree(config))
    shutdown.onClose('processes', () => this.stop(), this.stopTimeoutMs + graceMs)
    process.on('exit', () => this.all.forEach((slot) => slot.kill()))
    shutdown.onHangUp(() => {
      log.info({ signal: 'SIGHUP' }, 'rolling restart')
      void this.roll()
    })
    if (this.port > 0) onPort(this.port)
    // The first child starts alone: it logs an error that every child would log, and reports the port that the system
    // chose.
    const [first, ...others] = this.all
    const ready = await shutdown.unlessStopping(first!.start())
    if (ready?.port && this.port === 0) onPort(ready.port)
    this.port = ready?.port ?? this.port
    const all = ready && (await shutdown.unlessStopping(Promise.all(others.map((slot) => slot.start()))))
    if (!all?.every(Boolean)) return
    const urls = urlsOf({ host: config.host, port: this.port })
    log.info({ ...urls, pid: process.pid, ...this.pids() }, 'listening')
  }

  /** The label is the name of the slot, because a process id would change at each restart. */
  async measure(): Promise<Family[][]> {
    const named = ([role, slots]: [string, ChildSlot[]]) =>
      slots.map(async ({ current }, n) =>
        withProcessLabel(`${role}-${n + 1}`, (await current?.measure()) ?? []),
      )
    return Promise.all(Object.entries(this.slots).flatMap(named))
  }

  private pids() {
    const [web, worker] = Object.values(this.slots).map((slots) => slots.map(({ current }) => current?.pid))
    return { web, worker }
  }

  private createSlot(role: Role): ChildSlot {
    const { env, log } = this.options
    return new ChildSlot({
      start: () => new Child(role, { ...env[role], PORT: String(this.port) }),
      log,
      stopTimeoutMs: this.stopTimeoutMs,
      giveUp: (exit, starts) => void this.giveUp(role, exit, starts),
    })
  }

  private async giveUp(role: Role, { code, signal }: Exit, starts: number): Promise<void> {
    const { shutdown } = this.options
    if (starts === 1 && code !== null) return shutdown.stop(1)
    const ending = starts > 1 ? `right after its start, ${starts} times` : `by ${signal} before it was ready`
    return shutdown.fail(new Error(`The ${role} process ended ${ending}`))
  }

  private async stop(): Promise<void> {
    const ends = await Promise.all(this.all.map((slot) => slot.stop()))
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
    for (const slot of this.all) {
      if (await shutdown.unlessStopping(slot.replace())) continue
      return log.error('a new process did not start: the current processes keep running')
    }
    log.info(this.pids(), 'rolling restart finished')
  }
}
