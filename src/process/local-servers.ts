import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../config.ts'
import { localSecret } from '../local/secret.ts'
import { startLocal } from '../local/start.ts'
import type { Log } from '../logger.ts'
import type { Shutdown } from './shutdown.ts'
import type { LogProgress } from '../local/process.ts'

/** Postgres writes a checkpoint when it stops, and another process may be starting the servers. */
const stopMs = 30_000

export async function withLocalServers(
  given: Config,
  { command, isOneOff }: { command: string; isOneOff: boolean },
  log: Log,
  shutdown: Shutdown,
) {
  const { dataDir, databaseUrl, redisUrl, jwtSecret } = given
  const wanted = { postgres: !databaseUrl, redis: !redisUrl && !isOneOff }
  const isBuffered = command === 'start' && log.isLevelEnabled('info')
  const logProgress: LogProgress = (message, takesLong) =>
    takesLong && isBuffered ? console.error(message) : log.info(message)
  const abort = new AbortController()
  const starting = startLocal({ dataDir, ...wanted, log: logProgress, signal: abort.signal })
  const stop = () => {
    abort.abort()
    return starting.then(
      (servers) => servers.stop(),
      () => {},
    )
  }
  shutdown.onClose('local servers', stop, stopMs, true)
  const servers = await shutdown.unlessStopping(starting)
  const { withoutRedis: reason } = servers
  if (reason) log.warn({ reason }, 'starting without Redis: writes are slower, and jobs wait for Redis')
  return {
    ...given,
    databaseUrl: databaseUrl || (servers.databaseUrl ?? ''),
    redisUrl: redisUrl || (servers.redisUrl ?? missingRedisUrl(dataDir)),
    jwtSecret: jwtSecret || (isOneOff ? '' : await localSecret(dataDir)),
  }
}

/** The URL of a Unix socket that never exists. Another program could listen on a TCP port. */
const missingRedisUrl = (dataDir: string): string =>
  `unix:${pathToFileURL(join(dataDir, 'redis', 'absent.sock')).href.slice('file:'.length)}`
