import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const running = new Set<ChildProcess>()
const errorCharacters = 20_000

/** Runs a program to its end. @throws Error with the end of the error output if the program fails */
export async function runTool(command: string[], env: Record<string, string> = {}) {
  const [program = '', ...args] = command
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let [output, errors] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-errorCharacters)))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  }).finally(() => running.delete(child))
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${(errors.trim() || output).slice(-500)}`)
  return { output, errors }
}

export function endTools(): void {
  for (const child of running) child.kill('SIGTERM')
}

const packages = { wrk: 'wrk', pgbench: 'postgresql' }

/** Installs `wrk` and `pgbench` with apt-get if they are missing. @throws Error if they cannot be installed */
export function requireTools(): void {
  const missing = Object.entries(packages).flatMap(([program, name]) => (Bun.which(program) ? [] : name))
  if (missing.length === 0) return
  const rights = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  for (const words of [['update'], ['install', '-y', '--no-install-recommends', ...missing]]) {
    const [program = '', ...args] = [...rights, 'apt-get', ...words]
    if (spawnSync(program, args, { stdio: 'inherit' }).status !== 0)
      throw new Error(`Install wrk and pgbench (Debian: apt-get install ${missing.join(' ')})`)
  }
}

/** Returns the version that a program prints. */
export async function versionOf(program: string, flag: string): Promise<string> {
  const { stdout, stderr } = spawnSync(program, [flag])
  return `${program} ${/\d+(\.\d+)+/.exec(`${stdout}${stderr}`)?.[0]}`
}

export interface ChildScript {
  /** The line that the script prints when it is ready. */
  first: string
  /** Sends a line, and returns the line of the reply. */
  ask(what: string): Promise<string>
  stop(): Promise<void>
}

/** Starts a script of this folder that prints a line when it is ready, and one line for each line that it reads. */
export async function startScript(script: string, args: string[] = []): Promise<ChildScript> {
  const path = join(import.meta.dirname, script)
  const child = spawn(process.execPath, ['--no-env-file', path, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  running.add(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${script} has ended`)
    return value
  }
  return {
    first: await next(),
    ask(what) {
      child.stdin.write(`${what}\n`)
      return next()
    },
    async stop() {
      child.kill()
      await exited
      running.delete(child)
    },
  }
}
