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
type ReadyMessage = { port?: number }

const readyTimeoutMs = 60_000
const metricsTimeoutMs = 2_000

export type Role = 'web' | 'worker'
export type Env = Record<string, string | undefined>
export type Exit = { code: number | null; signal: string | null }
export type Child = ReturnType<typeof startChild>

export function startChild(role: Role, env: Env) {
  const command = [...process.execArgv, process.argv[1] ?? '', role, childArgument]
  const child = spawn(process.execPath, command, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const kill = () => void child.kill('SIGKILL')
  const killAfter = <T>(work: Promise<T>, withinMs: number): Promise<T> => {
    const late = setTimeout(kill, withinMs)
    return work.finally(() => clearTimeout(late))
  }
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', (error) => child.pid ?? resolve({ code: null, signal: error.message }))
  })
  let readyAt = Infinity
  const started = nextMessage<ReadyMessage>(child).then((message) => {
    readyAt = performance.now()
    return message
  })
  return {
    pid: child.pid ?? 0,
    exited,
    kill,
    /** Resolves to undefined if the process ends before it is ready. */
    ready: killAfter(Promise.race([started, exited.then(() => undefined)]), readyTimeoutMs),
    uptimeMs: () => Math.max(0, performance.now() - readyAt),

    stop(message: ParentMessage, withinMs: number): Promise<Exit> {
      send(child, message)
      return killAfter(exited, withinMs)
    },

    async measure(): Promise<Family[]> {
      if (readyAt === Infinity) return []
      const message = nextMessage<MetricsMessage>(child)
      send(child, 'measure')
      return (await within(metricsTimeoutMs, message))?.families ?? []
    },
  }
}

const nextMessage = <T>(child: ChildProcess) =>
  new Promise<T>((resolve) => child.once('message', (message) => resolve(message as T)))

function send(child: ChildProcess, message: ParentMessage): void {
  if (child.connected) child.send(message, () => {})
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
