import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../../src/local/port.ts'
import { end } from '../../src/local/process.ts'
import { redisBinary } from '../../src/local/redis-binary.ts'
import { launchRedis } from '../../src/local/redis.ts'
import { until } from '../../src/local/wait.ts'

const startTimeoutMs = 20_000
const stopTimeoutMs = 10_000

/** A Redis of a run's own: it may be killed, frozen and emptied, and comes back at the same URL. */
export interface RedisServer {
  url: string
  kill(): Promise<void>
  /** Starts it again, with what it had on disk or with nothing. */
  start(what: 'kept' | 'empty'): Promise<void>
  freeze(): void
  thaw(): void
  stop(): Promise<void>
  ask(...command: string[]): Promise<unknown>
}

export async function openRedis(dataDir: string): Promise<RedisServer> {
  const dir = join(dataDir, 'redis')
  const binary = await redisBinary(console.error)
  const port = await freePort()
  let pid = 0

  const start = async (what: 'kept' | 'empty') => {
    if (what === 'empty') await rm(dir, { recursive: true, force: true })
    await mkdir(dir, { recursive: true })
    const server = await until(() => launchRedis(binary, dir, port), startTimeoutMs)
    if (!server) throw new Error(`Redis did not start within ${startTimeoutMs} ms.`)
    pid = server.pid
  }
  await start('empty')
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    kill: async () => void (await end(pid, dir, 'SIGKILL', stopTimeoutMs)),
    freeze: () => void process.kill(pid, 'SIGSTOP'),
    thaw: () => void process.kill(pid, 'SIGCONT'),
    stop: async () => {
      await end(pid, dir, 'SIGCONT', 0)
      if (!(await end(pid, dir, 'SIGTERM', stopTimeoutMs))) await end(pid, dir, 'SIGKILL', stopTimeoutMs)
    },
    ask: (...command) => ask(port, command),
  }
}

async function ask(port: number, [name = '', ...args]: string[]): Promise<unknown> {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => {})
  return redis.call(name, ...args).finally(() => redis.disconnect())
}
