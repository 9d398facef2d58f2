import { execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { until } from './wait.ts'

export const run = promisify(execFile)

/** Reports what the own servers do; `takesLong` is for a user who waits. */
export type Say = (message: string, takesLong?: boolean) => void

export type Starting = { log: Say; signal: AbortSignal }

export interface Launch {
  command: string[]
  cwd: string
  logFile: string
  uid?: number
  gid?: number
}

export type Launched = { pid: number; ended(): string | undefined }

/** Starts a server in a session of its own, so that Ctrl-C does not end it during the drain. */
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

/** True when the process is the server in `dir`, and no other program with its old pid. */
export async function worksIn(pid: number, dir: string): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 0) return false
  if (process.platform !== 'linux') return (await lsofCwd(pid)) === dir
  if ((await readlink(`/proc/${pid}/cwd`).catch(() => '')) === dir) return true
  // In a container even root may not read links of other users.
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return command.split('\0').includes(dir)
}

async function lsofCwd(pid: number): Promise<string | undefined> {
  const listed = await run('lsof', ['-a', '-p', String(pid), '-d', 'cwd', '-Fn']).catch(() => undefined)
  return /^n(.*)$/m.exec(listed?.stdout ?? '')?.[1]
}

/** False when the server in `dir` does not end in time. */
export async function end(pid: number, dir: string, signal: NodeJS.Signals, withinMs = 10_000) {
  if (!(await worksIn(pid, dir))) return true
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  const isOver = async () => ((await worksIn(pid, dir)) ? undefined : true)
  return (await until(isOver, withinMs)) ?? false
}

/** The last error in a server's log, or its last line. */
export async function logTail(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '')
  const lines = text.trimEnd().split('\n')
  const reason = lines.findLast((line) => /\b(FATAL|PANIC|ERROR)\b/i.test(line)) ?? lines.at(-1) ?? ''
  return `${reason.trim()} (all of it: ${logFile})`
}
