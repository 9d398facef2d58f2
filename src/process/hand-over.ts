import { setTimeout as sleep } from 'node:timers/promises'
import { takeNoNewConnections } from '../local/closing-port.ts'
import type { Log } from '../log.ts'

/** How long who keeps a connection has at least to send the request that is answered with its end. */
const lingerMs = 1_500
/** How long what has begun to connect may take to arrive: round trips to somebody far away. */
const arrivalMs = 200

type Fetch = (request: Request) => Response | Promise<Response>

/** The parts of an app that this needs. */
export interface Serving {
  fetch: Fetch
  server: { port?: number; reload(options: { fetch: Fetch; routes: object }): unknown } | null
}

/** Leaves a port to the processes that share it, so that no request fails: the port can be closed then. */
export async function handOver(app: Serving, delayMs: number, log: Log): Promise<void> {
  const { server } = app
  if (!server?.port) return
  const answerAndEnd: Fetch = async (request) => {
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
