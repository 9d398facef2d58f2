import { ConfigError } from '../setting-values.ts'
import type { Services } from '../services.ts'
import { sleep, type Stopping } from './stopping.ts'

const cutMs = 1_000

interface Listening {
  hostname: string
  port: number
  reusePort: boolean
  maxRequestBodySize: number
  idleTimeout: number
}

/** The part of an app that this needs. */
interface App {
  listen(options: Listening): unknown
  server: { port?: number; stop(cut?: boolean): Promise<void> } | null
}

/** Opens the port, and has it closed at the end: what is under way is answered first. */
export function listen(app: App, services: Services, stopping: Stopping, receivedBytes: number): void {
  const { host, port, reusePort, drainDelayMs, drainTimeoutMs } = services.config
  try {
    app.listen({
      ...{ hostname: host, port, reusePort },
      maxRequestBodySize: receivedBytes,
      idleTimeout: 30,
    })
  } catch (error) {
    throw explained(error, host, port)
  }
  const close = async () => {
    services.drain()
    await sleep(drainDelayMs) // balancers ask whether it is ready, and send the next requests elsewhere
    const isAnswered = app.server?.stop().then(() => true)
    if (await Promise.race([isAnswered, sleep(drainTimeoutMs)])) return
    // Most likely a sender who never came to the end of a body: no answer was owed.
    services.log.warn('connections that were not done in time are cut')
    void app.server?.stop(true)
  }
  stopping.closes('server', close, { withinMs: drainDelayMs + drainTimeoutMs + cutMs })
  const url = `http://${host === '0.0.0.0' ? 'localhost' : host}:${app.server?.port}`
  services.log.info({ api: `${url}/api/v1`, docs: `${url}/api/docs` }, 'listening')
}

function explained(error: unknown, host: string, port: number): unknown {
  const { code } = error as { code?: string }
  if (code === 'EADDRINUSE')
    return new ConfigError(`PORT ${port} is taken by another program: end that one, or set another PORT`)
  if (code === 'EACCES')
    return new ConfigError(`PORT ${port} is not open to this user: set a PORT from 1024 on`)
  if (code === 'EADDRNOTAVAIL')
    return new ConfigError(
      `HOST "${host}" is no address of this machine: set one that is, or 0.0.0.0 for all`,
    )
  return error
}
