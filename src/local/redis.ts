import { Redis } from 'ioredis'
import { randomBytes } from 'node:crypto'
import { statSync, writeFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chownToFolderOwner, readOrCreate } from './files.ts'
import {
  ensureRunning,
  launch,
  type Launched,
  type LogProgress,
  run,
  type RunningServer,
  type Server,
  type StartOptions,
} from './server.ts'

const settings = {
  bind: '127.0.0.1',
  'protected-mode': 'yes',
  appendonly: 'yes',
  save: '',
  'maxmemory-policy': 'noeviction',
}

export const redisIn = (dir: string, password?: string): Server => ({
  name: 'Redis',
  dir,
  stopSignal: 'SIGTERM',
  lastStart: async () => JSON.parse(await readFile(join(dir, 'server.json'), 'utf8')) as RunningServer,
  probe: (port) => probe(port, password),
})

export async function startRedis(dataDir: string, starting: StartOptions): Promise<string> {
  const dir = join(dataDir, 'redis')
  await mkdir(dir, { recursive: true, mode: 0o700 })
  // The password is in a file, because every local user can read the arguments of processes.
  const file = join(dir, 'docket.conf')
  const access = await readOrCreate(file, () => `requirepass ${randomBytes(24).toString('base64url')}\n`)
  const password = /^requirepass (\S+)$/m.exec(access)?.[1] ?? ''
  await chownToFolderOwner(dataDir, dir)
  const port = await ensureRunning(redisIn(dir, password), starting, async () => {
    const binary = await redisBinary(starting.log, starting.signal)
    return (port) => launchRedis([binary, file], dir, port)
  })
  return `redis://:${password}@127.0.0.1:${port}`
}

export function launchRedis(program: string[], dir: string, port: number): Launched {
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const command = [...program, '--port', String(port), '--dir', dir, ...options]
  const { uid, gid } = statSync(dir)
  const runAs = process.getuid?.() === 0 ? { uid, gid } : {}
  const launched = launch(command, `${dir}.log`, { cwd: dir, ...runAs })
  writeFileSync(join(dir, 'server.json'), JSON.stringify({ pid: launched.pid, port }))
  return launched
}

async function probe(port: number, password?: string): Promise<unknown> {
  const timeouts = { connectTimeout: 1000, commandTimeout: 1000, retryStrategy: () => null }
  const options = { ...timeouts, password, lazyConnect: true, enableReadyCheck: false }
  const client = new Redis(port, '127.0.0.1', options)
  client.on('error', () => {})
  return client.ping().finally(() => client.disconnect())
}

const stepTimeoutMs = 300_000

const managers = [
  { name: 'apt-get', prepare: ['update'], install: ['install', '-y', '--no-install-recommends'] },
  { name: 'dnf', install: ['install', '-y'] },
  { name: 'apk', install: ['add', '--no-cache'] },
  { name: 'pacman', install: ['-Sy', '--noconfirm'] },
  { name: 'brew', install: ['install'] },
]

const advice =
  'Install Redis (Debian and Ubuntu: apt-get install redis-server, Fedora: dnf install valkey, ' +
  'macOS: brew install redis), or set REDIS_URL to a running Redis.'

export class NoRedisServer extends Error {}

/** Installs a server if none is on the PATH. @throws NoRedisServer, or the reason of an aborted `signal` */
export async function redisBinary(log: LogProgress, signal?: AbortSignal): Promise<string> {
  const problem = findServer() ? '' : await install(log, signal)
  const server = findServer()
  if (server) return server
  throw new NoRedisServer(`There is neither redis-server nor valkey-server on the PATH. ${problem} ${advice}`)
}

async function install(log: LogProgress, signal?: AbortSignal): Promise<string> {
  const manager = managers.find(({ name }) => onPath(name))
  if (!manager) return 'No known package manager was found.'
  const rights = rightsFor(manager.name)
  if (!rights) return `Installing with ${manager.name} requires root, and sudo is missing.`
  const command = [...rights, manager.name]
  if (manager.prepare) await execute([...command, ...manager.prepare], signal)
  let problem = ''
  const isApt = manager.name === 'apt-get'
  for (const name of isApt ? ['redis-server', 'valkey-server'] : ['valkey', 'redis']) {
    const line = [...command, ...manager.install, name]
    log(`Redis is missing, installing it: ${line.join(' ')}`, true)
    const failure = await execute(line, signal)
    if (failure === undefined) return ''
    problem ||= `${line.join(' ')} failed: ${failure}`
  }
  return problem
}

// Homebrew refuses to run as root; the other package managers require root. `sudo -n` never waits for a password.
function rightsFor(manager: string): string[] | undefined {
  if (manager === 'brew' || process.getuid?.() === 0) return []
  return onPath('sudo') ? ['sudo', '-n'] : undefined
}

/** Returns the error message of a failed command. An abort does not stop the command, so the installation completes. */
async function execute([program = '', ...args]: string[], signal?: AbortSignal): Promise<string | undefined> {
  signal?.throwIfAborted()
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const lastLines = ({ stderr, message }: Error & { stderr?: string }) =>
    (stderr?.trim() || message).split('\n').slice(-3).join(' ')
  const running = run(program, args, { env, timeout: stepTimeoutMs, maxBuffer: 64 * 1024 * 1024 })
  const done = running.then(() => undefined, lastLines)
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  return Promise.race([done, aborted])
}

const findServer = () => onPath('redis-server') ?? onPath('valkey-server')

const onPath = (program: string) => Bun.which(program, { PATH: process.env.PATH ?? '' })
