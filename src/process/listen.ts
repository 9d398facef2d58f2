import { setTimeout as sleep } from 'node:timers/promises'
import type { AnyElysia } from 'elysia'
import { takeNoNewConnections } from '../local/closing-port.ts'
import type { Log } from '../log.ts'
import type { Services } from '../services.ts'
import { within } from '../within.ts'
import { unusable } from './port.ts'
import type { Stopping } from './stopping.ts'

const cutMs = 1_000
/** For clients of kept connections to send the request whose answer ends the connection. */
const lingerMs = 1_500
/** For connections that have begun: round trips of a distant client. */
const arrivalMs = 200

/** Opens the port and returns it. At the end accepted requests are answered, then the port closes. */
export function listen(app: AnyElysia, services: Services, stopping: Stopping, maxBytes: number) {
  const { host, port, reusePort, drainDelayMs, drainTimeoutMs } = services.config
  try {
    app.listen({ hostname: host, port, reusePort, maxRequestBodySize: maxBytes, idleTimeout: 30 })
  } catch (error) {
    throw unusable(error, { host, port })
  }
  const close = async () => {
    if (!stopping.isReplaced) services.drain()
    await (stopping.isReplaced ? handOver(app, drainDelayMs, services.log) : sleep(drainDelayMs))
    services.subscriptions.end() // they would hold their answers for too long
    const isAnswered = app.server?.stop().then(() => true)
    if (await within(drainTimeoutMs, isAnswered)) return
    services.log.warn('connections that were not done in time are cut')
    void app.server?.stop(true)
  }
  stopping.closes('server', close, drainDelayMs + drainTimeoutMs + cutMs)
  return app.server?.port ?? port
}

/** Leaves a port to the processes that share it, without a failed request. */
export async function handOver(app: AnyElysia, delayMs: number, log: Log): Promise<void> {
  const { server } = app
  if (!server?.port) return
  const answerAndEnd = async (request: Request) => {
    const answer = await app.fetch(request)
    answer.headers.set('Connection', 'close')
    return answer
  }
  server.reload({ fetch: answerAndEnd, routes: {} })
  await sleep(Math.max(delayMs, lingerMs))
  try {
    takeNoNewConnections(server.port)
  } catch (error) {
    log.warn({ reason: String(error) }, 'clients that connect at this moment may have to connect again')
    return
  }
  await sleep(arrivalMs)
}
