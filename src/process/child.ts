import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import type { Family } from '../metrics/counts.ts'
import { within } from '../waits.ts'
import type { Shutdown } from './shutdown.ts'

/** Marks a child of a supervisor. The word never changes, because the parent may run an older release. */
const childArgument = 'led'

/** `retire`: stop, because a successor is ready. */
type ParentMessage = 'stop' | 'retire' | 'measure'

type MetricsMessage = { families: Family[] }

export type ReadyMessage = { port?: number }

const readyTimeoutMs = 60_000
const metricsTimeoutMs = 2_000

export type Role = 'web' | 'worker'
export type Env = Record<string, string | undefined>

export type Exit = { code: number | null; signal: string | null }

export class Child {
  readonly ready: Promise<ReadyMessage | undefined>
  readonly exited: Promise<Exit>
  private readonly child: ChildProcess
  private readyAt = Infinity

  constructor(role: Role, env: Env) {
    const command = [...process.execArgv, process.argv[1] ?? '', role, childArgument]
    const child = spawn(process.execPath, command, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.child = child
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
      child.once('error', (error) => child.pid ?? resolve({ code: null, signal: error.message }))
    })
    const message = this.nextMessage<ReadyMessage>()
    void message.then(() => (this.readyAt = performance.now()))
    this.ready = this.killAfter(Promise.race([message, this.exited.then(() => undefined)]), readyTimeoutMs)
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  get uptimeMs(): number {
    return Math.max(0, performance.now() - this.readyAt)
  }

  stop(message: ParentMessage, withinMs: number): Promise<Exit> {
    this.send(message)
    return this.killAfter(this.exited, withinMs)
  }

  async measure(): Promise<Family[]> {
    if (this.uptimeMs === 0) return []
    const message = this.nextMessage<MetricsMessage>()
    this.send('measure')
    return (await within(metricsTimeoutMs, message))?.families ?? []
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }

  private send(message: ParentMessage): void {
    if (this.child.connected) this.child.send(message, () => {})
  }

  private nextMessage<T>(): Promise<T> {
    return new Promise((resolve) => this.child.once('message', (message) => resolve(message as T)))
  }

  private killAfter<T>(work: Promise<T>, withinMs: number): Promise<T> {
    const late = setTimeout(() => this.kill(), withinMs)
    return work.finally(() => clearTimeout(late))
  }
}

export const isChild = (args: string[]): boolean => args[0] === childArgument && process.connected

export const sendToParent = (message: ReadyMessage | MetricsMessage): void => void process.send?.(message)

export function handleParentMessages(shutdown: Shutdown, measure: () => Promise<Family[]>): void {
  const handlers: Record<ParentMessage, () => Promise<void>> = {
    measure: () => measure().then((families) => sendToParent({ families })),
    stop: () => shutdown.stop(0),
    retire: () => shutdown.retire(),
  }
  process.on('message', (message: ParentMessage) => void handlers[message]())
  process.on('disconnect', () => void shutdown.fail(new Error('The parent process has ended')))
  // A terminal sends SIGHUP to all processes, but only the parent handles it.
  process.on('SIGHUP', () => {})
}
