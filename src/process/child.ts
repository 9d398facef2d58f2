import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import type { Family } from '../metrics/family.ts'
import { within } from '../within.ts'
import { ledWord, type Measured, type Order, type Ready } from './led.ts'

const readyWithinMs = 60_000
const measuredWithinMs = 2_000

export type Role = 'web' | 'worker'
export type Env = Record<string, string | undefined>

export interface Ending {
  code: number | null
  signal: string | null
}

/** A process that this one leads, from its start to its end. */
export class Child {
  /** Resolves when it is up; without an answer when it ended before. */
  readonly ready: Promise<Ready | undefined>
  readonly ended: Promise<Ending>
  private readonly child: ChildProcess
  private readyAt: number | undefined

  constructor(role: Role, env: Env) {
    const command = [...process.execArgv, process.argv[1] ?? '', role, ledWord]
    const child = spawn(process.execPath, command, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.child = child
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
      child.once('error', (error) => child.pid ?? resolve({ code: null, signal: error.message }))
    })
    const late = setTimeout(() => this.kill(), readyWithinMs)
    const told = this.nextMessage<Ready>()
    void told.then(() => (this.readyAt = performance.now()))
    this.ready = Promise.race([told, this.ended.then(() => undefined)]).finally(() => clearTimeout(late))
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  /** Since when it has been up. */
  get upForMs(): number {
    return this.readyAt === undefined ? 0 : performance.now() - this.readyAt
  }

  /** Tells it to end and waits for that; who is not done in time is killed. */
  async end(order: Order, withinMs: number): Promise<Ending> {
    if (this.child.connected) this.child.send(order, () => {}) // it may just have ended
    const late = setTimeout(() => this.kill(), withinMs)
    return this.ended.finally(() => clearTimeout(late))
  }

  /** What it tells of itself; nothing when it does not answer. */
  async measure(): Promise<Family[]> {
    if (this.readyAt === undefined || !this.child.connected) return []
    const told = this.nextMessage<Measured>()
    this.child.send('measure' satisfies Order, () => {})
    return (await within(measuredWithinMs, told))?.families ?? []
  }

  private nextMessage<T>(): Promise<T> {
    return new Promise((resolve) => this.child.once('message', (message) => resolve(message as T)))
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }
}
