import { setTimeout as sleep } from 'node:timers/promises'
import type { AnyElysia } from 'elysia'
import { sentPathRoutes } from '../http/sent-paths.ts'
import { dropNewConnections } from '../local/closing-port.ts'
import type { Log } from '../logger.ts'
import type { Services } from '../services.ts'
import { within } from '../waits.ts'
import { portError } from './port.ts'
import type { Shutdown } from './shutdown.ts'

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
  shutdown.onClose('server', close, drainDelayMs + drainTimeoutMs + closeMs)
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
