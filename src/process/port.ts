import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import type { Config } from '../config.ts'
import { inUrl } from '../hosts.ts'
import { ConfigError } from '../setting-values.ts'

type Address = Pick<Config, 'host' | 'port'>

export const urlsOf = ({ host, port }: Address) => {
  const url = `http://${['0.0.0.0', '::'].includes(host) ? 'localhost' : inUrl(host)}:${port}`
  return { api: `${url}/api/v1`, docs: `${url}/api/docs` }
}

/** @param prefix the first part of the setting's name in the error: METRICS_ for METRICS_PORT */
export async function listenAt(server: Server, { host, port }: Address, prefix = ''): Promise<void> {
  server.listen({ host, port, exclusive: true })
  await once(server, 'listening').catch((error: unknown) => {
    throw portError(error, { host, port }, prefix)
  })
}

/** When processes share a port, opening a taken port does not fail, so this function checks the port first. */
export async function requireFree(address: Address, prefix = ''): Promise<void> {
  const server = createServer()
  await listenAt(server, address, prefix)
  server.close()
  await once(server, 'close')
}

export async function requireFreePorts(command: string, config: Config): Promise<void> {
  const { homeHost, homePort, metricsHost, metricsPort, reusePort } = config
  if (command !== 'worker' && !reusePort) {
    await requireFree(config)
    await requireFree({ host: homeHost, port: homePort }, 'HOME_')
  }
  if (metricsPort > 0) await requireFree({ host: metricsHost, port: metricsPort }, 'METRICS_')
}

export function portError(error: unknown, { host, port }: Address, prefix = ''): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new ConfigError(
      `${prefix}PORT ${port} is taken by another program: stop that program, or set another ${prefix}PORT`,
    )
  if (code === 'EACCES')
    return new ConfigError(
      `${prefix}PORT ${port} needs more privileges than this user has: set ${prefix}PORT to 1024 or more`,
    )
  // If the name of a host is unknown, Bun reports an error without a code.
  if (
    /^(EADDRNOTAVAIL|EAFNOSUPPORT|EINVAL|EAI_AGAIN|ENOTFOUND)$/.test(code) ||
    message.startsWith('Failed to listen')
  )
    return new ConfigError(
      `${prefix}HOST "${host}" is not an address of this machine: set one of its addresses, or 0.0.0.0 for all addresses`,
    )
  return error
}
