import { setTimeout as sleep } from 'node:timers/promises'
import type { AnyElysia } from 'elysia'
import { takeNoNewConnections } from '../local/closing-port.ts'
import type { Log } from '../log.ts'
import type { Services } from '../services.ts'
import { within } from '../within.ts'
import { unusable } from './port.ts'
import type { Stopping } from './stopping.ts'

const cutMs = 1_000
/** How long who keeps a connection has at least to send the request that is answered with its end. */
const lingerMs = 1_500
/** How long what has begun to connect may take to arrive: round trips to somebody far away. */
const arrivalMs = 200

/** Opens the port and answers which; has it closed at the end: what is under way is answered first. */
export function listen(
  app: AnyElysia,
  services: Services,
  stopping: Stopping,
  receivedBytes: number,
): number {
  const { host, port, reusePort, drainDelayMs, drainTimeoutMs } = services.config
  try {
    app.listen({ hostname: host, port, reusePort, maxRequestBodySize: receivedBytes, idleTimeout: 30 })
  } catch (error) {
    throw unusable(error, { host, port })
  }
  const announce = async () => {
    services.drain()
    await sleep(drainDelayMs) // balancers ask whether it is ready, and send the next requests elsewhere
  }
  const close = async () => {
    await (stopping.isReplaced ? handOver(app, drainDelayMs, services.log) : announce())
    services.followers.end() // they would hold their answers longer than there is time
    const isAnswered = app.server?.stop().then(() => true)
    if (await within(drainTimeoutMs, isAnswered)) return
    // Most likely a sender who never came to the end of a body: no answer was owed.
    services.log.warn('connections that were not done in time are cut')
    void app.server?.stop(true)
  }
  stopping.closes('server', close, { withinMs: drainDelayMs + drainTimeoutMs + cutMs })
  return app.server?.port ?? port
}

/** Leaves a port to the processes that share it, so that no request fails: the port can be closed then. */
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
