import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const stepTimeoutMs = 300_000

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
  // Without apt-get, the start of the servers installs Redis with the package manager of the system.
  const needed = isOnPath('apt-get') ? programs : programs.filter((program) => program !== redis)
  const absent = () => needed.filter(({ names }) => !names.some(isOnPath))
  const missing = absent()
  if (missing.length === 0) return
  console.error(`Installing ${namesOf(missing)}`)
  const failure = await install(missing, dir).then(
    () => '',
    (error: Error & { stderr?: string }) => error.stderr?.trim() || error.message,
  )
  const left = absent()
  if (left.length === 0) return
  const packages = left.map((program) => program.package).join(' ')
  throw new Error(
    `Missing programs: ${namesOf(left)}. Install with: sudo apt-get install --no-install-recommends ${packages}\n${failure}`,
  )
}

const namesOf = (programs: Program[]) => programs.map(({ names }) => names[0]).join(', ')

async function install(programs: Program[], dir: string): Promise<void> {
  const isRoot = process.getuid?.() === 0
  const maySudo = !isRoot && (await run('sudo', ['-n', 'true']).then(...yesOrNo))
  if (!isRoot && !maySudo) return unpack(programs, dir)
  const packages = programs.map((program) => program.package)
  const command = [...(maySudo ? ['sudo', '-n'] : []), 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get']
  await execute([...command, 'update', '-qq'])
  await execute([...command, 'install', '-y', '-qq', '--no-install-recommends', ...packages])
}

/** Downloads the packages and their missing libraries, and unpacks them below `dir`. */
async function unpack(programs: Program[], dir: string): Promise<void> {
  const work = join(dir, 'download')
  await rm(work, { recursive: true, force: true })
  for (const name of ['lists/partial', 'archives/partial']) await mkdir(join(work, name), { recursive: true })
  const own = { 'Dir::State::lists': 'lists', 'Dir::Cache': '', 'Dir::Cache::archives': 'archives' }
  const options = Object.entries(own).map(([name, folder]) => `${name}=${join(work, folder)}`)
  const apt = ['apt-get', '-qq', ...[...options, 'Debug::NoLocking=1'].flatMap((option) => ['-o', option])]
  await execute([...apt, 'update'])
  const install = ['install', '-y', '--download-only', '--no-install-recommends']
  await execute([...apt, ...install, ...programs.map((program) => program.package)])
  const archives = (await readdir(join(work, 'archives'))).filter((name) => name.endsWith('.deb'))
  for (const name of archives)
    await execute(['dpkg-deb', '--extract', join(work, 'archives', name), join(dir, 'root')])
  await rm(work, { recursive: true })
  await mkdir(join(dir, 'bin'), { recursive: true })
  for (const name of programs.flatMap(({ names }) => names)) await writeStarter(name, dir)
}

async function writeStarter(name: string, dir: string): Promise<void> {
  const root = join(dir, 'root')
  const found = ['usr/bin', 'usr/sbin'].map((folder) => join(root, folder, name)).find(isExecutable)
  if (!found) return
  const folders = (await readdir(join(root, 'usr/lib'))).filter((folder) => folder.includes('-linux-'))
  const libraries = folders.flatMap((folder) => [join(root, 'usr/lib', folder), join(root, 'lib', folder)])
  const starter = join(dir, 'bin', name)
  await writeFile(starter, `#!/bin/sh\nLD_LIBRARY_PATH='${libraries.join(':')}' exec '${found}' "$@"\n`)
  await chmod(starter, 0o755)
}

const execute = ([program = '', ...args]: string[]) =>
  run(program, args, { timeout: stepTimeoutMs, maxBuffer: 64 * 1024 * 1024 })

const yesOrNo = [() => true, () => false] as const

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => isExecutable(join(folder, program)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
