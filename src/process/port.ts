import { createServer } from 'node:net'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { ConfigError } from '../setting-values.ts'

type Place = Pick<Config, 'host' | 'port'>

/** What is there, by its address. */
export const urlsOf = ({ host, port }: Place) => {
  const url = `http://${host === '0.0.0.0' ? 'localhost' : host}:${port}`
  return { api: `${url}/api/v1`, docs: `${url}/api/docs` }
}

/** Says where a process, or several together, can be reached. */
export function tellAddress(log: Log, place: Place, together: object = {}): void {
  log.info({ ...urlsOf(place), ...together }, 'listening')
}

/** Processes that share a port do not see who else has it. @throws ConfigError when somebody has. */
export async function requireFree({ host, port }: Place, named = settings): Promise<void> {
  if (port === 0) return // the system chooses one
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port, exclusive: true }, resolve)
    })
  } catch (error) {
    throw unusable(error, { host, port }, named)
  }
  await new Promise((resolve) => server.close(resolve))
}

type Ports = Place & Pick<Config, 'homeHost' | 'homePort' | 'metricsHost' | 'metricsPort' | 'reusePort'>

/** Looks before anything is started whether the ports of a command can be had. @throws ConfigError */
export async function requireFreePorts(command: string, config: Ports): Promise<void> {
  const { host, port, homeHost, homePort, metricsHost, metricsPort, reusePort } = config
  if (command !== 'worker' && !reusePort) {
    await requireFree({ host, port })
    await requireFree({ host: homeHost, port: homePort }, homeSettings)
  }
  await requireFree({ host: metricsHost, port: metricsPort }, metricsSettings)
}

const settings = { host: 'HOST', port: 'PORT' }
const homeSettings = { host: 'HOME_HOST', port: 'HOME_PORT' }
export const metricsSettings = { host: 'METRICS_HOST', port: 'METRICS_PORT' }

/** Why a port cannot be had, for who set it. */
export function unusable(error: unknown, { host, port }: Place, named = settings): unknown {
  const { code } = error as { code?: string }
  if (code === 'EADDRINUSE')
    return new ConfigError(
      `${named.port} ${port} is taken by another program: end that one, or set another ${named.port}`,
    )
  if (code === 'EACCES')
    return new ConfigError(`${named.port} ${port} is not open to this user: set a ${named.port} from 1024 on`)
  if (code === 'EADDRNOTAVAIL')
    return new ConfigError(
      `${named.host} "${host}" is no address of this machine: set one that is, or 0.0.0.0 for all`,
    )
  return error
}
