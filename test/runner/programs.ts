import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const stepTimeoutMs = 300_000

/** A program that tests start. Any of `names` is enough; `package` is the Debian package that ships it. */
export interface Program {
  names: string[]
  package: string
}

export const redis: Program = { names: ['redis-server', 'valkey-server'], package: 'redis-server' }
export const peers: Program[] = [
  { names: ['haproxy'], package: 'haproxy' },
  { names: ['pgbouncer'], package: 'pgbouncer' },
  { names: ['promtool'], package: 'prometheus' },
]

/**
 * Installs the programs that are not on the PATH: into the system as root or through sudo, else unpacked below `dir`,
 * which needs no rights. Adds their folders to the PATH of this process.
 * @throws Error naming the programs that are still missing, and the command that installs them
 */
export async function installPrograms(programs: Program[], dir: string): Promise<void> {
  process.env.PATH = [process.env.PATH, '/usr/sbin', join(dir, 'bin')].join(delimiter)
  // Where there is no apt-get, the start of the servers installs Redis with the package manager that is there.
  const needed = isOnPath('apt-get') ? programs : programs.filter((program) => program !== redis)
  const absent = () => needed.filter(({ names }) => !names.some(isOnPath))
  const packages = absent().map((program) => program.package)
  if (packages.length === 0) return
  console.error(`Installing ${packages.join(', ')}`)
  const failure = await install(packages, dir).then(
    () => '',
    (error: Error & { stderr?: string }) => error.stderr?.trim() || error.message,
  )
  const names = absent().map((program) => program.names[0])
  if (names.length === 0) return
  const command = `sudo apt-get install --no-install-recommends ${packages.join(' ')}`
  throw new Error(`The tests need ${names.join(', ')}. Install with: ${command}\n${failure}`)
}

async function install(packages: string[], dir: string): Promise<void> {
  const isRoot = process.getuid?.() === 0
  const maySudo = !isRoot && (await run('sudo', ['-n', 'true']).then(...yesOrNo))
  if (!isRoot && !maySudo) return unpack(packages, dir)
  const command = [...(maySudo ? ['sudo', '-n'] : []), 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get']
  await execute([...command, 'update', '-qq'])
  await execute([...command, 'install', '-y', '-qq', '--no-install-recommends', ...packages])
}

/** Downloads the packages, and the libraries that this machine lacks for them, with package lists of our own. */
async function unpack(packages: string[], dir: string): Promise<void> {
  const work = `${dir}.new`
  await rm(work, { recursive: true, force: true })
  for (const name of ['lists/partial', 'archives/partial', 'bin'])
    await mkdir(join(work, name), { recursive: true })
  const own = { 'Dir::State::lists': 'lists', 'Dir::Cache': '', 'Dir::Cache::archives': 'archives' }
  const options = Object.entries(own).map(([name, folder]) => `${name}=${join(work, folder)}`)
  const apt = ['apt-get', '-qq', ...[...options, 'Debug::NoLocking=1'].flatMap((option) => ['-o', option])]
  await execute([...apt, 'update'])
  await execute([...apt, 'install', '-y', '--download-only', '--no-install-recommends', ...packages])
  const archives = (await readdir(join(work, 'archives'))).filter((name) => name.endsWith('.deb'))
  for (const name of archives)
    await execute(['dpkg-deb', '--extract', join(work, 'archives', name), join(work, 'root')])
  for (const name of ['lists', 'archives']) await rm(join(work, name), { recursive: true })
  await rm(dir, { recursive: true, force: true })
  await rename(work, dir)
  await writeStarters(dir)
}

/** Scripts in `bin` that start each unpacked program with the libraries that were unpacked beside it. */
async function writeStarters(dir: string): Promise<void> {
  const root = join(dir, 'root/usr')
  const libraries = (await readdir(join(root, 'lib')).catch(() => []))
    .filter((name) => name.includes('-linux-'))
    .flatMap((name) => [join(root, 'lib', name), join(dir, 'root/lib', name)])
  for (const folder of ['bin', 'sbin']) {
    for (const name of await readdir(join(root, folder)).catch(() => [])) {
      const script = `#!/bin/sh\nLD_LIBRARY_PATH='${libraries.join(':')}' exec '${join(root, folder, name)}' "$@"\n`
      await writeFile(join(dir, 'bin', name), script)
      await chmod(join(dir, 'bin', name), 0o755)
    }
  }
}

const execute = ([program = '', ...args]: string[]) =>
  run(program, args, { timeout: stepTimeoutMs, maxBuffer: 64 * 1024 * 1024 })

const yesOrNo = [() => true, () => false] as const

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
