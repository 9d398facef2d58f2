import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import type { Family } from '../metrics/family.ts'
import { within } from '../within.ts'
import { ledWord, type Measured, type Order, type Ready } from './led.ts'

const readyWithinMs = 60_000
const measuredWithinMs = 2_000

export type Role = 'web' | 'worker'
export type Env = Record<string, string | undefined>

export type Ending = { code: number | null; signal: string | null }

export class Child {
  /** Undefined when the process ended before it was up. */
  readonly ready: Promise<Ready | undefined>
  readonly ended: Promise<Ending>
  private readonly child: ChildProcess
  private readyAt = Infinity

  constructor(role: Role, env: Env) {
    const command = [...process.execArgv, process.argv[1] ?? '', role, ledWord]
    const child = spawn(process.execPath, command, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.child = child
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
      child.once('error', (error) => child.pid ?? resolve({ code: null, signal: error.message }))
    })
    const told = this.nextMessage<Ready>()
    void told.then(() => (this.readyAt = performance.now()))
    this.ready = this.orKilled(Promise.race([told, this.ended.then(() => undefined)]), readyWithinMs)
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  get upForMs(): number {
    return Math.max(0, performance.now() - this.readyAt)
  }

  end(order: Order, withinMs: number): Promise<Ending> {
    this.send(order)
    return this.orKilled(this.ended, withinMs)
  }

  /** Empty when the process does not answer. */
  async measure(): Promise<Family[]> {
    if (this.upForMs === 0) return []
    const told = this.nextMessage<Measured>()
    this.send('measure')
    return (await within(measuredWithinMs, told))?.families ?? []
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }

  private send(order: Order): void {
    if (this.child.connected) this.child.send(order, () => {}) // it may just have ended
  }

  private nextMessage<T>(): Promise<T> {
    return new Promise((resolve) => this.child.once('message', (message) => resolve(message as T)))
  }

  private orKilled<T>(work: Promise<T>, withinMs: number): Promise<T> {
    const late = setTimeout(() => this.kill(), withinMs)
    return work.finally(() => clearTimeout(late))
  }
}
