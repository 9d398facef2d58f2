import { freePort } from '../kit.ts'

/** Starts a server on a free port, up to five times with a new port, because another process may open the port first. */
export async function startOnOwnPort<T>(start: (port: number) => Promise<T>, attempts = 5) {
  const port = freePort()
  try {
    return { port, started: await start(port) }
  } catch (error) {
    if (attempts === 1) throw error
    return startOnOwnPort(start, attempts - 1)
  }
}
