import { execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { until } from './wait.ts'

export const run = promisify(execFile)

/** `takesLong`: the user should see the message immediately. */
export type LogProgress = (message: string, takesLong?: boolean) => void

export type StartOptions = { log: LogProgress; signal: AbortSignal }

interface Launch {
  command: string[]
  cwd: string
  logFile: string
  uid?: number
  gid?: number
}

export type Launched = { pid: number; ended(): boolean }

/** Starts a server in its own session, so that Ctrl-C does not stop it during the drain. */
export function launch({ command, cwd, logFile, uid, gid }: Launch): Launched {
  const [program = '', ...args] = command
  const log = openSync(logFile, 'w', 0o600)
  const env = { PATH: process.env.PATH, LC_ALL: 'C' }
  const child = spawn(program, args, { cwd, env, uid, gid, detached: true, stdio: ['ignore', log, log] })
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

export async function endServer(pid: number, dir: string, signal: NodeJS.Signals, withinMs = 10_000) {
  if (!(await isServerProcess(pid, dir))) return true
  send(pid, signal)
  const hasEnded = async () => ((await isServerProcess(pid, dir)) ? undefined : true)
  return (await until(hasEnded, withinMs)) ?? false
}

/** Ends a child of this process. A new child has no command line for a moment, so `isServerProcess` may miss it. */
export async function endLaunched({ pid, ended }: Launched, signal: NodeJS.Signals, withinMs = 10_000) {
  const isOver = () => pid === 0 || ended()
  if (!isOver()) send(pid, signal)
  await until(() => isOver() || undefined, withinMs)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

export async function logTail(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '')
  const lines = text.trimEnd().split('\n')
  const reason = lines.findLast((line) => /\b(FATAL|PANIC|ERROR)\b/i.test(line)) ?? lines.at(-1) ?? ''
  return `${reason.trim()} (full log: ${logFile})`
}
