import { randomBytes } from 'node:crypto'
import { statSync, writeFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { chownToFolderOwner } from './owner.ts'
import { launch, type Launched, type Starting } from './process.ts'
import { redisBinary } from './redis-binary.ts'
import { readOrCreate } from './secret.ts'
import { ensureRunning, type Running, type Server } from './server.ts'

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
  lastStart: async () => JSON.parse(await readFile(join(dir, 'server.json'), 'utf8')) as Running,
  probe: (port) => probe(port, password),
})

export async function startRedis(dataDir: string, starting: Starting): Promise<string> {
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
  const launched = launch({ command, cwd: dir, logFile: `${dir}.log`, ...runAs })
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
