import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import type { Config } from '../config.ts'
import { ConfigError } from '../setting-values.ts'

type Place = Pick<Config, 'host' | 'port'>

export const urlsOf = ({ host, port }: Place) => {
  const url = `http://${host === '0.0.0.0' ? 'localhost' : host}:${port}`
  return { api: `${url}/api/v1`, docs: `${url}/api/docs` }
}

/** `prefix` begins the names of the settings. @throws ConfigError when the port cannot be opened */
export async function listenAt(server: Server, { host, port }: Place, prefix = ''): Promise<void> {
  server.listen({ host, port, exclusive: true })
  await once(server, 'listening').catch((error: unknown) => {
    throw unusable(error, { host, port }, prefix)
  })
}

/** Processes that share a port do not notice another owner. @throws ConfigError when there is one */
export async function requireFree(place: Place, prefix = ''): Promise<void> {
  if (place.port === 0) return // the system chooses
  const server = createServer()
  await listenAt(server, place, prefix)
  server.close()
  await once(server, 'close')
}

type Ports = Place & Pick<Config, 'homeHost' | 'homePort' | 'metricsHost' | 'metricsPort' | 'reusePort'>

/** Checks the ports of a command before anything is started. @throws ConfigError */
export async function requireFreePorts(command: string, config: Ports): Promise<void> {
  const { homeHost, homePort, metricsHost, metricsPort, reusePort } = config
  if (command !== 'worker' && !reusePort) {
    await requireFree(config)
    await requireFree({ host: homeHost, port: homePort }, 'HOME_')
  }
  await requireFree({ host: metricsHost, port: metricsPort }, 'METRICS_')
}

export function unusable(error: unknown, { host, port }: Place, prefix = ''): unknown {
  const reasons: Record<string, string> = {
    EADDRINUSE: `PORT ${port} is taken by another program: end that one, or set another ${prefix}PORT`,
    EACCES: `PORT ${port} is not open to this user: set a ${prefix}PORT from 1024 on`,
    EADDRNOTAVAIL: `HOST "${host}" is no address of this machine: set one that is, or 0.0.0.0 for all`,
  }
  const reason = reasons[(error as { code?: string }).code ?? '']
  return reason ? new ConfigError(prefix + reason) : error
}
