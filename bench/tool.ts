import { type ChildProcess, spawn } from 'node:child_process'

const errorCharacters = 20_000
const running = new Set<ChildProcess>()

/** @throws Error with the end of the error output if the program fails */
export async function runTool(
  command: string[],
  env: Record<string, string> = {},
): Promise<{ output: string; errors: string }> {
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

/** Returns the version that a program prints; undefined if it is not installed. */
export async function versionOf(program: string, flag: string): Promise<string | undefined> {
  const path = Bun.which(program)
  if (!path) return undefined
  const { stdout, stderr } = Bun.spawnSync([path, flag])
  return /\d+(\.\d+)+/.exec(stdout.toString() + stderr.toString())?.[0] ?? 'of unknown version'
}
