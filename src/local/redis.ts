import { Redis } from 'ioredis'
import { randomBytes } from 'node:crypto'
import { statSync, writeFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readOrCreate } from './files.ts'
import { ensureRunning, launch, type LogProgress, run, type Server, type StartOptions } from './server.ts'

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
  lastStart: async () => JSON.parse(await readFile(join(dir, 'server.json'), 'utf8')),
  probe: (port) => probe(port, password),
})

export async function startRedis(dataDir: string, starting: StartOptions): Promise<string> {
  const dir = join(dataDir, 'redis')
  await mkdir(dir, { recursive: true, mode: 0o700 })
  // The password is in a file, because every local user can read the arguments of processes.
  const file = join(dir, 'docket.conf')
  const access = await readOrCreate(file, () => `requirepass ${randomBytes(24).toString('base64url')}\n`)
  const password = /^requirepass (\S+)$/m.exec(access)?.[1] ?? ''
  const port = await ensureRunning(redisIn(dir, password), starting, async () => {
    const binary = await redisBinary(starting.log)
    return (port) => launchRedis([binary, file], dir, port)
  })
  return `redis://:${password}@127.0.0.1:${port}`
}

function launchRedis(program: string[], dir: string, port: number) {
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

const advice =
  'Install Redis (Debian and Ubuntu: apt-get install redis-server, Fedora: dnf install valkey, ' +
  'macOS: brew install redis), or set REDIS_URL to a running Redis.'

export class NoRedisServer extends Error {}

/** Installs a server with apt-get if none is on the PATH. @throws NoRedisServer */
export async function redisBinary(log: LogProgress): Promise<string> {
  const problem = findServer() ? '' : await install(log)
  const server = findServer()
  if (server) return server
  throw new NoRedisServer(`There is neither redis-server nor valkey-server on the PATH. ${problem} ${advice}`)
}

/** Returns why the installation failed. `sudo -n` never waits for a password. */
async function install(log: LogProgress): Promise<string> {
  const rights = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const [program = '', ...args] = [...rights, 'apt-get']
  if (!onPath('apt-get') || !onPath(program))
    return 'Docket installs it only with apt-get, as root or with sudo.'
  const options = {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: stepTimeoutMs,
    maxBuffer: 64 * 1024 * 1024,
  }
  const last = ['install', '-y', '--no-install-recommends', 'redis-server']
  const line = [program, ...args, ...last].join(' ')
  log(`Redis is missing, installing it: ${line}`)
  await run(program, [...args, 'update'], options).catch(() => {})
  return run(program, [...args, ...last], options).then(
    () => '',
    ({ stderr, message }: Error & { stderr?: string }) =>
      `${line} failed: ${(stderr?.trim() || message).split('\n').slice(-3).join(' ')}`,
  )
}

const findServer = () => onPath('redis-server') ?? onPath('valkey-server')

const onPath = (program: string) => Bun.which(program, { PATH: process.env.PATH ?? '' })
