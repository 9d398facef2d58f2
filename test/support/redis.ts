import { randomBytes } from 'node:crypto'
import { mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis, type RedisOptions } from 'ioredis'
import { endServer, freePort, launch, logTail, until } from '../../src/local/server.ts'
import { redisBinary } from '../../src/local/redis.ts'
import { cert, key } from './tls-proxy.ts'

const timeoutMs = 40_000
export const redisPassword = 's3cret'
const usual = { bind: '127.0.0.1', save: '', 'repl-diskless-sync-delay': '0' }

interface NodeOptions {
  settings?: Record<string, string>
  /** The lines of the configuration of a sentinel. */
  sentinel?: string[]
  /** Whether the server accepts only TLS connections, with the password. */
  isSecured?: boolean
}

export type RedisNode = Awaited<ReturnType<typeof openRedisNode>>

/** Starts a Redis or a sentinel with the folder `dir`. */
export async function openRedisNode(
  dir: string,
  { settings = {}, sentinel, isSecured = false }: NodeOptions,
) {
  await mkdir(dir, { recursive: true })
  const binary = await redisBinary(console.error)
  const passwords = isSecured && { requirepass: redisPassword, masterauth: redisPassword }
  const file = join(dir, 'sentinel.conf')
  if (sentinel) await writeFile(file, sentinel.join('\n'))
  const own = sentinel ? [file, '--sentinel'] : toArguments({ ...usual, ...settings, ...passwords })
  const login = isSecured && { tls: { ca: cert }, ...(!sentinel && { password: redisPassword }) }
  let [port, pid] = [0, 0]
  const command = (...words: string[]) => sendCommand({ port, ...login }, words)
  const start = async () => {
    const listens = toArguments(isSecured ? await tlsSettings(dir, port) : { port: String(port) })
    const line = [binary, ...own, ...listens, '--dir', dir]
    const launched = launch(line, `${dir}.log`, { cwd: dir })
    pid = launched.pid
    // Another server may have opened the port, and answer instead of this one.
    const isOwn = async () =>
      String(await command('INFO', 'server').catch(() => '')).includes(`process_id:${pid}\r`)
    const isReady = async () => {
      const answer = await command('PING').catch(() => undefined)
      return (answer === 'PONG' && (await isOwn())) || (launched.ended() ? false : undefined)
    }
    return until(isReady, timeoutMs, { everyMs: 20 })
  }
  // Another process may open the port first.
  for (let attempts = 5; attempts > 0 && pid === 0; attempts--) {
    port = await clusterPort()
    if (!(await start())) pid = 0
  }
  if (pid === 0) throw new Error(`Redis did not start: ${await logTail(`${dir}.log`)}`)
  const end = async (signal: NodeJS.Signals) => void (await endServer(pid, dir, signal, timeoutMs))
  return { port, command, start, end, kill: () => end('SIGKILL'), pid: () => pid }
}

const toArguments = (all: Record<string, string>) =>
  Object.entries(all).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')])

/** Returns a free port below 55,536, because a cluster node also uses the port 10,000 above. */
async function clusterPort(): Promise<number> {
  const port = await freePort()
  return port < 55_536 ? port : clusterPort()
}

async function tlsSettings(dir: string, port: number): Promise<Record<string, string>> {
  for (const [name, text] of Object.entries({ cert, key })) await writeFile(join(dir, name), text)
  const files = { 'tls-cert-file': 'cert', 'tls-key-file': 'key', 'tls-ca-cert-file': 'cert' }
  return {
    ...{ port: '0', 'tls-port': String(port), 'tls-auth-clients': 'no' },
    ...{ 'tls-replication': 'yes', 'tls-cluster': 'yes' },
    ...Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(dir, file)])),
  }
}

export async function sendCommand(options: RedisOptions, [name = '', ...args]: string[]): Promise<unknown> {
  const oneAttempt = { lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null }
  const redis = new Redis({ ...options, ...oneAttempt, host: '127.0.0.1' })
  redis.on('error', () => {})
  return redis.call(name, ...args).finally(() => redis.disconnect())
}

export const newServerFolder = async (name: string, dataDir = setting('TEST_DATA_DIR')) =>
  join(await realpath(dataDir), `${name}-${randomBytes(6).toString('hex')}`)

export type FreshRedis = Awaited<ReturnType<typeof freshRedis>>

/** Starts a Redis that only this test uses, so the test may stop, kill, freeze and flush it. */
export async function freshRedis(dataDir?: string) {
  const dir = await newServerFolder('redis', dataDir)
  const { port, pid, ...node } = await openRedisNode(dir, { settings: { appendonly: 'yes' } })
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(pid(), name)
    } catch {
      // The process has ended before.
    }
  }
  const stop = async () => {
    signal('SIGCONT')
    await node.end('SIGTERM')
  }
  return {
    ...{ url: `redis://127.0.0.1:${port}`, port, stop },
    kill: () => signal('SIGKILL'),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    /** Restarts the server at the same URL, with or without the data that it stored on disk. */
    restart: async (data: 'keep' | 'delete' = 'keep') => {
      await stop()
      if (data === 'delete') await rm(dir, { recursive: true }).then(() => mkdir(dir))
      if (!(await node.start())) throw new Error('Redis did not start again')
    },
  }
}

export function sharedRedisPrefix(): { url: string; prefix: string } {
  return { url: setting('TEST_REDIS_URL'), prefix: `t${randomBytes(8).toString('hex')}` }
}

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: run the tests with \`bun run test\`.`)
  return value
}
