import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installPrograms } from '../test/runner/programs.ts'

const run = promisify(execFile)
const cacheDir = join(import.meta.dirname, '../node_modules/.cache/test-programs')

/** Runs a program to its end. @throws Error with the error output if the program fails */
export const runTool = ([program = '', ...args]: string[], env: Record<string, string> = {}) =>
  run(program, args, { env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 })

/** Installs `wrk` and `pgbench` if they are missing. @throws Error if they cannot be installed */
export const requireTools = () =>
  installPrograms(
    [
      { names: ['wrk'], package: 'wrk' },
      { names: ['pgbench'], package: 'postgresql' },
    ],
    cacheDir,
  )

/** Returns the version that a program prints. */
export function versionOf(program: string, flag: string): string {
  const { stdout, stderr } = spawnSync(program, [flag])
  return `${program} ${/\d+(\.\d+)+/.exec(`${stdout}${stderr}`)?.[0]}`
}
