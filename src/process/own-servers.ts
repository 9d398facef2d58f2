import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../config.ts'
import { localSecret } from '../local/secret.ts'
import { startLocal } from '../local/start.ts'
import type { Log } from '../log.ts'
import type { Stopping } from './stopping.ts'
import type { Say } from '../local/process.ts'

/** For own servers to stop: Postgres writes its memory, and other processes may be starting. */
const stopMs = 30_000

export async function withOwnServers(
  given: Config,
  { command, isErrand }: { command: string; isErrand: boolean },
  log: Log,
  stopping: Stopping,
) {
  const { dataDir, databaseUrl, redisUrl, jwtSecret } = given
  const wanted = { postgres: !databaseUrl, redis: !redisUrl && !isErrand }
  const isHeld = command === 'start' && log.isLevelEnabled('info')
  const say: Say = (message, takesLong) => (takesLong && isHeld ? console.error(message) : log.info(message))
  const givenUp = new AbortController()
  const starting = startLocal({ dataDir, ...wanted, log: say, signal: givenUp.signal })
  const stop = () => {
    givenUp.abort()
    return starting.then(
      (servers) => servers.stop(),
      () => {},
    )
  }
  stopping.closes('own servers', stop, stopMs, true)
  const servers = await stopping.unlessBegun(starting)
  const { withoutRedis: reason } = servers
  if (reason)
    log.warn({ reason }, 'starting without Redis: writes are slower, and jobs wait until there is one')
  return {
    ...given,
    databaseUrl: databaseUrl || (servers.databaseUrl ?? ''),
    redisUrl: redisUrl || (servers.redisUrl ?? absentRedis(dataDir)),
    jwtSecret: jwtSecret || (isErrand ? '' : await localSecret(dataDir)),
  }
}

/** The URL of a Redis that is always away. A port could one day be that of another program. */
const absentRedis = (dataDir: string): string =>
  `unix:${pathToFileURL(join(dataDir, 'redis', 'absent.sock')).href.slice('file:'.length)}`
