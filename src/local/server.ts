import { setTimeout as sleep } from 'node:timers/promises'
import {
  endLaunched,
  endServer,
  type Launched,
  logTail,
  isServerProcess,
  type StartOptions,
} from './process.ts'
import { until } from './wait.ts'

const attempts = 5
const readyTimeoutMs = 120_000

export type RunningServer = { pid: number; port: number }

export interface Server {
  name: string
  dir: string
  stopSignal: NodeJS.Signals
  lastStart(): Promise<RunningServer>
  probe(port: number): Promise<unknown>
}

export async function ensureRunning(
  server: Server,
  { log, signal }: StartOptions,
  prepare: () => Promise<(port: number) => Launched>,
): Promise<number> {
  const port = (await attach(server, signal)) ?? (await start(server, await prepare(), signal))
  log(`${server.name} listens on 127.0.0.1:${port}`)
  return port
}

async function attach(server: Server, signal: AbortSignal): Promise<number | undefined> {
  let problem = ''
  const probe = async () => {
    const last = await running(server)
    if (!last) return null
    const fail = (error: Error) => void (problem = error.message)
    return server.probe(last.port).then(() => last.port, fail)
  }
  const port = await until(probe, readyTimeoutMs, { signal })
  if (port !== undefined) return port ?? undefined
  const tail = await logTail(`${server.dir}.log`)
  throw new Error(`${server.name} runs but does not answer: ${problem}. ${tail}`)
}

async function start(server: Server, launch: (port: number) => Launched, signal: AbortSignal) {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const port = freePort()
    if (await waitUntilReady(server, launch(port), port, signal)) return port
    // Another program took the port, or processes of a killed server are still ending.
    await sleep(200 * attempt)
  }
  throw new Error(`${server.name} does not start. ${await logTail(`${server.dir}.log`)}`)
}

export async function waitUntilReady(server: Server, launched: Launched, port: number, signal?: AbortSignal) {
  const answers = async () => {
    await server.probe(port)
    return true
  }
  const probe = () => (launched.ended() ? false : answers().catch(() => undefined))
  const isReady = await until(probe, readyTimeoutMs, { signal }).catch(() => undefined)
  // The server has no clients yet, so SIGQUIT may stop the server immediately.
  if (isReady === undefined) await endLaunched(launched, 'SIGQUIT')
  signal?.throwIfAborted()
  return isReady ?? false
}

export async function stop(server: Server): Promise<void> {
  const last = await running(server)
  if (last && !(await endServer(last.pid, server.dir, server.stopSignal)))
    throw new Error(`${server.name} (pid ${last.pid}) did not stop in time.`)
}

async function running(server: Server): Promise<RunningServer | undefined> {
  const last = await server.lastStart().catch(() => undefined)
  return last && (await isServerProcess(last.pid, server.dir)) ? last : undefined
}

/** Returns a free loopback port. Another process may open the port first, so callers retry. */
export function freePort(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  server.stop()
  return server.port
}
