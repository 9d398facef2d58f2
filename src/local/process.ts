import { execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { until } from './wait.ts'

/** Runs a program to its end. */
export const run = promisify(execFile)

export interface Launch {
  command: string[]
  cwd: string
  logFile: string
  uid?: number
  gid?: number
}

/** A server just spawned: `ended` says why, as soon as it has ended. */
export interface Launched {
  pid: number
  ended(): string | undefined
}

/** Starts a server in a session of its own: Ctrl-C ends us, and we drain while the server still stands. */
export function launch({ command, cwd, logFile, uid, gid }: Launch): Launched {
  const [program = '', ...args] = command
  const log = openSync(logFile, 'w', 0o600)
  const env = { PATH: process.env.PATH, LC_ALL: 'C' }
  const child = spawn(program, args, { cwd, env, uid, gid, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  let end: string | undefined
  child.once('exit', (code, signal) => (end = `it ended with ${signal ?? `code ${code}`}`))
  child.once('error', (error) => (end = error.message))
  child.unref()
  return { pid: child.pid ?? 0, ended: () => end }
}

/** Whether the process lives and works in `dir`: so is our server told from a stranger with its old pid. */
export async function worksIn(pid: number, dir: string): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 0) return false
  if (process.platform !== 'linux') return (await lsofCwd(pid)) === dir
  if ((await readlink(`/proc/${pid}/cwd`).catch(() => '')) === dir) return true
  // In a container even root may not look into processes of other users; their arguments are open to all.
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return command.split('\0').includes(dir)
}

async function lsofCwd(pid: number): Promise<string | undefined> {
  const listed = await run('lsof', ['-a', '-p', String(pid), '-d', 'cwd', '-Fn']).catch(() => undefined)
  return /^n(.*)$/m.exec(listed?.stdout ?? '')?.[1]
}

/** Signals the server in `dir` and waits for its end; false when it still runs after `timeoutMs`. */
export async function end(
  pid: number,
  dir: string,
  signal: NodeJS.Signals,
  timeoutMs = 10_000,
): Promise<boolean> {
  if (!(await worksIn(pid, dir))) return true
  try {
    process.kill(pid, signal)
  } catch (error) {
    // ESRCH: it has just ended by itself.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
  return (await until(async () => ((await worksIn(pid, dir)) ? undefined : true), timeoutMs)) ?? false
}

/** What a server's log says last, most of all why it does not start, and where the rest stands. */
export async function logTail(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '')
  const lines = text.trimEnd().split('\n')
  const reason = lines.findLast((line) => /\b(FATAL|PANIC|ERROR)\b/i.test(line)) ?? lines.at(-1) ?? ''
  return `${reason.trim()} (all of it: ${logFile})`
}
