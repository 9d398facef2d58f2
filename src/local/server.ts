import { setTimeout as sleep } from 'node:timers/promises'
import { execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'

const attempts = 5
const readyTimeoutMs = 120_000

type RunningServer = { pid: number; port: number }

export interface Server {
  name: string
  dir: string
  stopSignal: NodeJS.Signals
  lastStart(): Promise<RunningServer>
  probe(port: number): Promise<unknown>
}

export async function ensureRunning(
  server: Server,
  { signal }: StartOptions,
  prepare: () => Promise<(port: number) => Launched>,
): Promise<number> {
  return (await attach(server, signal)) ?? (await start(server, await prepare(), signal))
}

async function attach(server: Server, signal?: AbortSignal): Promise<number | undefined> {
  const probe = async () => {
    const last = await running(server)
    return last ? (await answers(server, last.port)) && last.port : null
  }
  const port = await until(probe, readyTimeoutMs, { signal })
  if (port !== undefined) return port ?? undefined
  throw new Error(`${server.name} runs but does not answer. ${await logTail(`${server.dir}.log`)}`)
}

const answers = ({ probe }: Server, port: number) =>
  probe(port).then(
    () => true as const,
    () => undefined,
  )

async function start(server: Server, launch: (port: number) => Launched, signal?: AbortSignal) {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const port = freePort()
    if (await waitUntilReady(server, launch(port), port, signal)) return port
    // Another program took the port, or processes of a killed server are still ending.
    await sleep(200 * attempt)
  }
  throw new Error(`${server.name} does not start. ${await logTail(`${server.dir}.log`)}`)
}

async function waitUntilReady(server: Server, launched: Launched, port: number, signal?: AbortSignal) {
  const probe = () => (launched.ended() ? false : answers(server, port))
  const isReady = await until(probe, readyTimeoutMs, { signal }).catch(() => undefined)
  const { pid, ended } = launched
  // The server has no clients yet, so SIGQUIT may stop the server immediately. A new child has no command line for a
  // moment, so `isServerProcess` may miss it.
  if (isReady === undefined) await end(pid, () => pid > 0 && !ended(), 'SIGQUIT', 10_000)
  signal?.throwIfAborted()
  return isReady ?? false
}

export async function stop(server: Server): Promise<void> {
  const last = await running(server)
  if (last && !(await endServer(last.pid, server.dir, server.stopSignal)))
    throw new Error(`${server.name} (pid ${last.pid}) did not stop in time.`)
}

async function running(server: Server): Promise<RunningServer | undefined> {
  const last = await server.lastStart().catch(() => undefined)
  return last && (await isServerProcess(last.pid, server.dir)) ? last : undefined
}

/** Returns a free loopback port. Another process may open the port first, so callers retry. */
export function freePort(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  server.stop()
  return server.port
}

const stepMs = 50

export async function until<T>(
  probe: () => T | undefined | Promise<T | undefined>,
  timeoutMs: number,
  { signal, everyMs = stepMs }: { signal?: AbortSignal; everyMs?: number } = {},
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    const result = await probe()
    if (result !== undefined || performance.now() > deadline) return result
    await sleep(everyMs, undefined, { signal }).catch(() => signal?.throwIfAborted())
  }
}

export const run = promisify(execFile)

/** Reports a step that takes long: the user should see the message immediately. */
export type LogProgress = (message: string) => void

export type StartOptions = { log: LogProgress; signal?: AbortSignal }

type Launched = { pid: number; ended(): boolean }

/** Starts a server in its own session, so that Ctrl-C does not stop it during the drain. */
export function launch(
  [program = '', ...args]: string[],
  logFile: string,
  options: { cwd: string; uid?: number; gid?: number },
): Launched {
  const log = openSync(logFile, 'w', 0o600)
  const env = { PATH: process.env.PATH, LC_ALL: 'C' }
  const child = spawn(program, args, { ...options, env, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  let hasEnded = false
  child.once('exit', () => (hasEnded = true))
  child.once('error', () => (hasEnded = true))
  child.unref()
  return { pid: child.pid ?? 0, ended: () => hasEnded }
}

/** Returns true if the process is the server of `dir`, and not another program that got its pid. */
export async function isServerProcess(pid: number, dir: string): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 0) return false
  if (process.platform !== 'linux') return (await lsofCwd(pid)) === dir
  if ((await readlink(`/proc/${pid}/cwd`).catch(() => '')) === dir) return true
  // In a container, even root may not read the links of other users' processes.
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return command.split('\0').includes(dir)
}

async function lsofCwd(pid: number): Promise<string | undefined> {
  const listed = await run('lsof', ['-a', '-p', String(pid), '-d', 'cwd', '-Fn']).catch(() => undefined)
  return /^n(.*)$/m.exec(listed?.stdout ?? '')?.[1]
}

/** Returns false if the server still runs after this time. */
export const endServer = (pid: number, dir: string, signal: NodeJS.Signals, withinMs = 10_000) =>
  end(pid, () => isServerProcess(pid, dir), signal, withinMs)

async function end(
  pid: number,
  isAlive: () => boolean | Promise<boolean>,
  signal: NodeJS.Signals,
  withinMs: number,
): Promise<boolean> {
  if (!(await isAlive())) return true
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  const hasEnded = async () => ((await isAlive()) ? undefined : true)
  return (await until(hasEnded, withinMs)) ?? false
}

export async function logTail(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '')
  const lines = text.trimEnd().split('\n')
  const reason = lines.findLast((line) => /\b(FATAL|PANIC|ERROR)\b/i.test(line)) ?? lines.at(-1) ?? ''
  return `${reason.trim()} (full log: ${logFile})`
}
