import { execFile } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const timeoutMs = 600_000

export interface Program {
  names: string[]
  package: string
}

export const redis: Program = { names: ['redis-server', 'valkey-server'], package: 'redis-server' }
export const deepPrograms: Program[] = [
  { names: ['haproxy'], package: 'haproxy' },
  { names: ['pgbouncer'], package: 'pgbouncer' },
  { names: ['promtool'], package: 'prometheus' },
  { names: ['chromium'], package: 'chromium' },
]

/**
 * Installs the programs that are not on the PATH: as root or by sudo into the system, otherwise into `dir`.
 * Adds their folders to the PATH of this process.
 * @throws Error with the missing programs and the command that installs them
 */
export async function installPrograms(programs: Program[], dir: string): Promise<void> {
  process.env.PATH = [process.env.PATH, '/usr/sbin', join(dir, 'bin')].join(delimiter)
  const isOnPath = (name: string) => Bun.which(name, { PATH: process.env.PATH ?? '' }) !== null
  const absent = () => programs.filter(({ names }) => !names.some(isOnPath))
  const missing = absent()
  if (missing.length === 0) return
  const namesOf = (some: Program[]) => some.map(({ names }) => names[0]).join(', ')
  const packagesOf = (some: Program[]) => some.map((program) => program.package).join(' ')
  console.error(`Installing ${namesOf(missing)}`)
  const script = join(import.meta.dirname, 'install.sh')
  const args = [script, dir, packagesOf(missing), missing.flatMap(({ names }) => names).join(' ')]
  const failure = await promisify(execFile)('sh', args, { timeout: timeoutMs }).then(
    () => '',
    (error: Error & { stderr?: string }) => error.stderr?.trim() || error.message,
  )
  const left = absent()
  if (left.length === 0) return
  throw new Error(
    `Missing programs: ${namesOf(left)}. Install with: sudo apt-get install --no-install-recommends ${packagesOf(left)}\n${failure}`,
  )
}
