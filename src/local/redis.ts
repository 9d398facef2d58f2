import { randomBytes } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { giveToOwner } from './owner.ts'
import { freePort } from './port.ts'
import { accepts, end, launch, logTail, worksIn } from './process.ts'
import { redisBinary } from './redis-binary.ts'
import { keptText } from './secret.ts'
import { until } from './wait.ts'
import type { Starting } from './say.ts'

const attempts = 5
// Long, because a server with much data loads it first.
const readyTimeoutMs = 60_000
const stopTimeoutMs = 10_000
const settings = {
  bind: '127.0.0.1',
  'protected-mode': 'yes',
  appendonly: 'yes',
  save: '',
  'maxmemory-policy': 'noeviction',
}

/** A configuration file for Redis with its password: an argument of the command line is shown to every local user. */
interface Access {
  file: string
  password: string
}

/** A Redis at work. */
export interface RunningRedis {
  pid: number
  port: number
}

/** Starts the Redis of `dataDir`, or attaches to it when it runs, and answers its URL, which holds its password. */
export async function startRedis(dataDir: string, starting: Starting): Promise<string> {
  const dir = join(dataDir, 'redis')
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const access = await ownAccess(dir)
  await giveToOwner(dataDir, dir)
  const { log, signal } = starting
  const binary = () => redisBinary(log, signal)
  const { port } =
    (await attach(dir, access, signal)) ?? (await startAnywhere(await binary(), dir, access, signal))
  log(`Redis listens on 127.0.0.1:${port}`)
  return `redis://:${access.password}@127.0.0.1:${port}`
}

async function ownAccess(dir: string): Promise<Access> {
  const file = join(dir, 'docket.conf')
  const text = await keptText(file, () => `requirepass ${randomBytes(24).toString('base64url')}\n`)
  return { file, password: /^requirepass (\S+)$/m.exec(text)?.[1] ?? '' }
}

/** Stops the Redis of `dataDir`, if it runs; what it holds stays on disk. */
export async function stopRedis(dataDir: string): Promise<void> {
  const dir = join(dataDir, 'redis')
  const server = await running(dir)
  if (!server || (await end(server.pid, dir, 'SIGTERM', stopTimeoutMs))) return
  throw new Error(`Redis (pid ${server.pid}) did not stop within ${stopTimeoutMs} ms.`)
}

/** Starts a Redis with its data in `dir`; undefined when it ended, as it does if the port is taken. */
export async function launchRedis(
  binary: string,
  dir: string,
  port: number,
  access?: Access,
  signal?: AbortSignal,
): Promise<RunningRedis | undefined> {
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const configured = access ? [binary, access.file] : [binary]
  const command = [...configured, '--port', String(port), '--dir', dir, ...options]
  const { uid, gid } = statSync(dir)
  const runAs = process.getuid?.() === 0 ? { uid, gid } : {} // root may run it for somebody else
  const server = launch({ command, cwd: dir, logFile: `${dir}.log`, ...runAs })
  writeFileSync(join(dir, 'server.json'), JSON.stringify({ pid: server.pid, port }))
  const how = { dir, answers: () => answers(port, access), readyTimeoutMs, stopTimeoutMs, signal }
  return (await accepts(server, how)) ? { pid: server.pid, port } : undefined
}

async function startAnywhere(
  binary: string,
  dir: string,
  access: Access,
  signal: AbortSignal,
): Promise<RunningRedis> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const server = await launchRedis(binary, dir, await freePort(), access, signal)
    if (server) return server
  }
  throw new Error(`Redis does not start. ${await logTail(`${dir}.log`)}`)
}

async function attach(dir: string, access: Access, signal: AbortSignal): Promise<RunningRedis | undefined> {
  const found = await until(
    async () => {
      const server = await running(dir)
      if (!server) return null
      return (await answers(server.port, access)) ? server : undefined
    },
    readyTimeoutMs,
    { signal },
  )
  if (found === undefined) throw new Error(`Redis runs but does not answer. ${await logTail(`${dir}.log`)}`)
  return found ?? undefined
}

async function running(dir: string): Promise<RunningRedis | undefined> {
  try {
    const server = JSON.parse(readFileSync(join(dir, 'server.json'), 'utf8')) as RunningRedis
    return (await worksIn(server.pid, dir)) ? server : undefined
  } catch {
    return undefined
  }
}

async function answers(port: number, access?: Access): Promise<boolean> {
  const options = { lazyConnect: true, connectTimeout: 1000, commandTimeout: 1000, retryStrategy: () => null }
  const client = new Redis(port, '127.0.0.1', {
    ...options,
    password: access?.password,
    enableReadyCheck: false,
  })
  client.on('error', () => {})
  const reply = await client.ping().catch(() => undefined)
  client.disconnect()
  return reply === 'PONG'
}
