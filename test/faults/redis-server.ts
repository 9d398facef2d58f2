import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../../src/local/port.ts'
import { endServer } from '../../src/local/process.ts'
import { redisBinary } from '../../src/local/redis-binary.ts'
import { until } from '../../src/local/wait.ts'
import { startRedis as startedRedis } from '../support/redis.ts'
import { masterName, openSentinel } from '../support/redis-group.ts'

const startTimeoutMs = 20_000
const stopTimeoutMs = 10_000
/** The sentinel leaves to the run which of them is master. */
const sentinel = { quorum: 1, downMs: 3_600_000 }

interface Server {
  dir: string
  port: number
  pid: number
}

/**
 * A Redis of a run's own with a replica, and a sentinel that says which is which. The master may be killed, frozen and
 * emptied, and comes back at the same port.
 */
export type RedisServer = Awaited<ReturnType<typeof openRedis>>

export async function openRedis(dataDir: string) {
  const binary = await redisBinary(console.error)
  const server = async (name: string) => ({ dir: join(dataDir, name), port: await freePort(), pid: 0 })
  let [master, replica]: Server[] = await Promise.all([server('redis'), server('redis-second')])
  const start = (what: 'kept' | 'empty', one = master!) => started(binary, one, what)

  await Promise.all([start('empty'), start('empty', replica)])
  await ask(replica!.port, ['REPLICAOF', '127.0.0.1', String(master!.port)])
  const watcher = await openSentinel(join(dataDir, 'sentinel'), master!.port, sentinel)
  return {
    url: `redis+sentinel://127.0.0.1:${watcher.port}/${masterName}`,
    start,
    kill: async () => void (await endServer(master!.pid, master!.dir, 'SIGKILL', stopTimeoutMs)),
    freeze: () => void process.kill(master!.pid, 'SIGSTOP'),
    thaw: () => void process.kill(master!.pid, 'SIGCONT'),
    ask: (...command: string[]) => ask(master!.port, command),

    /** Has the replica become the master. Resolves when the sentinel has begun with it; the rest is to be waited for. */
    async switch(): Promise<() => Promise<void>> {
      // Refused as long as the replica has not caught up.
      const begin = () => watcher.command('SENTINEL', 'FAILOVER', masterName).then(...yesOrUndefined)
      if (!(await until(begin, startTimeoutMs, { everyMs: 100 })))
        throw new Error('The sentinel has no replica to take')
      ;[master, replica] = [replica, master]
      const isIn = async (one: Server, role: string) =>
        String(await ask(one.port, ['ROLE']).catch(() => '')).startsWith(role)
      const isDone = async () =>
        ((await isIn(master!, 'master')) && (await isIn(replica!, 'slave'))) || undefined
      return async () => {
        if (!(await until(isDone, startTimeoutMs, { everyMs: 50 })))
          throw new Error('The replica did not become the master')
      }
    },

    async stop() {
      await watcher.kill()
      for (const { pid, dir } of [master!, replica!]) {
        await endServer(pid, dir, 'SIGCONT', 0)
        if (!(await endServer(pid, dir, 'SIGTERM', stopTimeoutMs)))
          await endServer(pid, dir, 'SIGKILL', stopTimeoutMs)
      }
    },
  }
}

/** Starts it again, with what it had on disk or with nothing. */
async function started(binary: string, server: Server, what: 'kept' | 'empty'): Promise<void> {
  if (what === 'empty') await rm(server.dir, { recursive: true, force: true })
  await mkdir(server.dir, { recursive: true })
  server.pid = (await startedRedis(binary, server.dir, () => server.port)).pid
}

async function ask(port: number, [name = '', ...args]: string[]): Promise<unknown> {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => {})
  return redis.call(name, ...args).finally(() => redis.disconnect())
}

const yesOrUndefined = [() => true, () => undefined] as const
