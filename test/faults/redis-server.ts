import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../../src/local/port.ts'
import { endServer } from '../../src/local/process.ts'
import { redisBinary } from '../../src/local/redis-binary.ts'
import { until } from '../../src/local/wait.ts'
import { startRedis } from '../support/redis.ts'
import { masterName, openSentinel } from '../support/redis-group.ts'

const startTimeoutMs = 20_000
const stopTimeoutMs = 10_000
/** One hour, so that the sentinel fails over only on command. */
const sentinel = { quorum: 1, downMs: 3_600_000 }

interface Server {
  dir: string
  port: number
  pid: number
}

export type RedisServer = Awaited<ReturnType<typeof openRedis>>

export async function openRedis(dataDir: string) {
  const binary = await redisBinary(console.error)
  const newServer = async (name: string) => ({ dir: join(dataDir, name), port: await freePort(), pid: 0 })
  let [master, replica]: Server[] = await Promise.all([newServer('redis'), newServer('redis-second')])
  const start = (data: 'keep' | 'delete', server = master!) => startServer(binary, server, data)

  await Promise.all([start('delete'), start('delete', replica)])
  await send(replica!.port, ['REPLICAOF', '127.0.0.1', String(master!.port)])
  const watcher = await openSentinel(join(dataDir, 'sentinel'), master!.port, sentinel)
  return {
    url: `redis+sentinel://127.0.0.1:${watcher.port}/${masterName}`,
    start,
    kill: async () => void (await endServer(master!.pid, master!.dir, 'SIGKILL', stopTimeoutMs)),
    freeze: () => void process.kill(master!.pid, 'SIGSTOP'),
    thaw: () => void process.kill(master!.pid, 'SIGCONT'),
    send: (...command: string[]) => send(master!.port, command),

    /** Starts a failover to the replica, and returns a function that waits for the end of the failover. */
    async failOver(): Promise<() => Promise<void>> {
      // The sentinel rejects the command until the replica has caught up.
      const begin = () => watcher.command('SENTINEL', 'FAILOVER', masterName).then(...yesOrUndefined)
      if (!(await until(begin, startTimeoutMs, { everyMs: 100 })))
        throw new Error('The sentinel did not accept the failover')
      ;[master, replica] = [replica, master]
      const isIn = async (one: Server, role: string) =>
        String(await send(one.port, ['ROLE']).catch(() => '')).startsWith(role)
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

async function startServer(binary: string, server: Server, data: 'keep' | 'delete'): Promise<void> {
  if (data === 'delete') await rm(server.dir, { recursive: true, force: true })
  await mkdir(server.dir, { recursive: true })
  server.pid = (await startRedis(binary, server.dir, () => server.port)).pid
}

async function send(port: number, [name = '', ...args]: string[]): Promise<unknown> {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => {})
  return redis.call(name, ...args).finally(() => redis.disconnect())
}

const yesOrUndefined = [() => true, () => undefined] as const
