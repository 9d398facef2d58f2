import type { Config } from '../config.ts'
import type { Say } from '../local/say.ts'
import { localSecret } from '../local/secret.ts'
import { startLocal } from '../local/start.ts'
import type { Log } from '../log.ts'
import type { Stopping } from './stopping.ts'

/** Fills what the environment leaves open with servers and a secret of this machine's own. */
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
  const starting = startLocal({ dataDir, ...wanted, log: say })
  // Also when they are still starting, or something fails later.
  const stop = () =>
    starting.then(
      (servers) => servers.stop(),
      () => {},
    )
  stopping.closes('own servers', stop, { always: true })
  const servers = await stopping.unlessBegun(starting)
  return {
    ...given,
    databaseUrl: databaseUrl || (servers.databaseUrl ?? ''),
    redisUrl: redisUrl || (servers.redisUrl ?? ''),
    jwtSecret: jwtSecret || (isErrand ? '' : await localSecret(dataDir)),
  }
}
