import { join } from 'node:path'
import { eventually } from '../races/pair.ts'
import { freshRedis, type FreshRedis } from '../support/redis.ts'
import { masterName, openSentinel, sendCommand } from '../support/redis-group.ts'

/** One hour, so that the sentinel fails over only on command. */
const sentinel = { quorum: 1, downMs: 3_600_000 }

export type RedisServer = Awaited<ReturnType<typeof openRedis>>

export async function openRedis(dataDir: string) {
  let [master, replica] = await Promise.all([freshRedis(dataDir), freshRedis(dataDir)])
  const send = ({ port }: FreshRedis, ...command: string[]) => sendCommand({ port }, command)
  await send(replica, 'REPLICAOF', '127.0.0.1', String(master.port))
  const watcher = await openSentinel(join(dataDir, 'sentinel'), master.port, sentinel)
  const isIn = async (one: FreshRedis, role: string) =>
    String(await send(one, 'ROLE').catch(() => '')).startsWith(role)
  return {
    url: `redis+sentinel://127.0.0.1:${watcher.port}/${masterName}`,
    kill: () => master.kill(),
    restart: (data: 'keep' | 'delete') => master.restart(data),
    freeze: () => master.freeze(),
    thaw: () => master.thaw(),
    send: (...command: string[]) => send(master, ...command),

    /** Starts a failover to the replica, and returns a function that waits for the end of the failover. */
    async failOver(): Promise<() => Promise<void>> {
      // The sentinel rejects the command until the replica has caught up.
      await eventually('the sentinel to accept the failover', () =>
        watcher.command('SENTINEL', 'FAILOVER', masterName).then(...yesOrNo),
      )
      ;[master, replica] = [replica, master]
      return () =>
        eventually(
          'the replica to become the master',
          async () => (await isIn(master, 'master')) && (await isIn(replica, 'slave')),
        )
    },

    async stop() {
      await watcher.kill()
      await Promise.all([master.stop(), replica.stop()])
    },
  }
}

const yesOrNo = [() => true, () => false] as const
