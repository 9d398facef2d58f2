import { randomBytes } from 'node:crypto'
import { mkdir, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { endServer } from '../../src/local/process.ts'
import { redisBinary, launchRedis, redisIn } from '../../src/local/redis.ts'
import { freePort, waitUntilReady } from '../../src/local/server.ts'
import { until } from '../../src/local/wait.ts'

const startTimeoutMs = 30_000
const stopTimeoutMs = 20_000

export type FreshRedis = Awaited<ReturnType<typeof freshRedis>>

/** Starts a Redis that only this test uses, so the test may stop, kill, freeze and flush it. */
export async function freshRedis(dataDir = setting('TEST_DATA_DIR')) {
  const dir = join(await realpath(dataDir), `redis-${randomBytes(6).toString('hex')}`)
  await mkdir(dir)
  const binary = await redisBinary(console.error)
  let { pid, port } = await startRedis(binary, dir, freePort)
  const stop = async () => {
    signal(pid, 'SIGCONT')
    if (!(await endServer(pid, dir, 'SIGTERM', stopTimeoutMs)))
      await endServer(pid, dir, 'SIGKILL', stopTimeoutMs)
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    stop,
    kill: () => signal(pid, 'SIGKILL'),
    freeze: () => signal(pid, 'SIGSTOP'),
    thaw: () => signal(pid, 'SIGCONT'),
    /** Restarts the server at the same URL, with or without the data that it stored on disk. */
    restart: async (data: 'keep' | 'delete' = 'keep') => {
      await stop()
      if (data === 'delete') await rm(dir, { recursive: true }).then(() => mkdir(dir))
      pid = (await startRedis(binary, dir, () => port)).pid
    },
  }
}

export function sharedRedisPrefix(): { url: string; prefix: string } {
  return { url: setting('TEST_REDIS_URL'), prefix: `t${randomBytes(8).toString('hex')}` }
}

/** Starts a Redis. Retries, because another test may use the port for a moment. */
async function startRedis(binary: string, dir: string, choosePort: () => number | Promise<number>) {
  const start = async () => {
    const port = await choosePort()
    const launched = launchRedis([binary], dir, port)
    return (await waitUntilReady(redisIn(dir), launched, port)) ? { pid: launched.pid, port } : undefined
  }
  const server = await until(start, startTimeoutMs)
  if (server) return server
  throw new Error(`Redis did not start within ${startTimeoutMs} ms.`)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended before.
  }
}

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: run the tests with \`bun run test\`.`)
  return value
}
