import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnyElysia } from 'elysia'
import type { Config } from '../config.ts'
import { inUrl } from '../hosts.ts'
import { ConfigError } from '../setting-values.ts'
import { sentPathRoutes } from '../http/sent-paths.ts'
import { dropNewConnections } from '../local/closing-port.ts'
import type { Log } from '../logger.ts'
import type { Services } from '../services.ts'
import { within } from '../waits.ts'
import type { Shutdown } from './shutdown.ts'

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
async function requireFree(address: Address, prefix = ''): Promise<void> {
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
  // If the name of a host is unknown, Bun reports an error without a code.
  if (!/^(EACCES|EADDRNOTAVAIL|EAFNOSUPPORT|EINVAL|EAI_AGAIN|ENOTFOUND)$/.test(code) && code) return error
  return new ConfigError(
    `${prefix}PORT ${port} of ${prefix}HOST "${host}" cannot be opened: set an address of this machine, or 0.0.0.0 for all addresses, and a port of 1024 or more. ${message}`,
  )
}

const closeMs = 1_000
/** Time for keep-alive clients to send another request. The response closes the connection. */
const lingerMs = 1_500
/** Time for TCP handshakes that have begun before the port is closed to new connections. */
const arrivalMs = 200

export function listen(app: AnyElysia, services: Services, shutdown: Shutdown, maxBytes: number) {
  const { host, port, reusePort, drainDelayMs, drainTimeoutMs } = services.config
  try {
    app.listen({ hostname: host, port, reusePort, maxRequestBodySize: maxBytes, idleTimeout: 30 })
  } catch (error) {
    throw portError(error, { host, port })
  }
  const close = async () => {
    if (!shutdown.isReplaced) services.drain()
    await (shutdown.isReplaced ? retirePort(app, drainDelayMs, services.log) : sleep(drainDelayMs))
    services.subscriptions.end()
    const isAnswered = app.server?.stop().then(() => true)
    if (await within(drainTimeoutMs, isAnswered)) return
    services.log.warn('closing connections whose requests did not finish in time')
    void app.server?.stop(true)
  }
  shutdown.onClose('server', close, { withinMs: drainDelayMs + drainTimeoutMs + closeMs })
  return app.server?.port ?? port
}

/** Stops listening on a shared port. No request fails, because other processes accept the new connections. */
export async function retirePort(app: AnyElysia, delayMs: number, log: Log): Promise<void> {
  const respondAndClose = async (request: Request) => {
    const response = await app.fetch(request)
    response.headers.set('Connection', 'close')
    return response
  }
  app.server!.reload({ fetch: respondAndClose, routes: sentPathRoutes(respondAndClose) })
  await sleep(Math.max(delayMs, lingerMs))
  try {
    dropNewConnections(app.server!.port!)
  } catch (error) {
    log.warn({ reason: String(error) }, 'clients that are connecting may have to reconnect')
  }
  await sleep(arrivalMs)
}
