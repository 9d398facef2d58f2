import { setTimeout as sleep } from 'node:timers/promises'
import type { Services } from '../services.ts'
import { handOver, type Serving } from './hand-over.ts'
import { unusable } from './port.ts'
import type { Stopping } from './stopping.ts'
import { within } from '../within.ts'

const cutMs = 1_000

interface Listening {
  hostname: string
  port: number
  reusePort: boolean
  maxRequestBodySize: number
  idleTimeout: number
}

/** The part of an app that this needs. */
interface App extends Serving {
  listen(options: Listening): unknown
  server: (NonNullable<Serving['server']> & { stop(cut?: boolean): Promise<void> }) | null
}

/** Opens the port and answers which; has it closed at the end: what is under way is answered first. */
export function listen(app: App, services: Services, stopping: Stopping, receivedBytes: number): number {
  const { host, port, reusePort, drainDelayMs, drainTimeoutMs } = services.config
  try {
    app.listen({
      ...{ hostname: host, port, reusePort },
      maxRequestBodySize: receivedBytes,
      idleTimeout: 30,
    })
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
