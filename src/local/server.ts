import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './port.ts'
import { end, type Launched, logTail, worksIn } from './process.ts'
import { until } from './wait.ts'

const attempts = 5
// Long, because a server reads its log after a crash.
const readyTimeoutMs = 120_000

export type Running = { pid: number; port: number }

/** A server with its data in one folder, and its log beside it. */
export interface Server {
  name: string
  dir: string
  stopSignal: NodeJS.Signals
  lastStart(): Promise<Running>
  /** @throws when the server does not answer */
  probe(port: number): Promise<unknown>
}

/** Undefined when the server does not run. Waits until it answers. */
export async function attach(server: Server, signal: AbortSignal): Promise<number | undefined> {
  let problem = ''
  const ask = async () => {
    const found = await running(server)
    if (!found) return null
    const fail = (error: Error) => void (problem = error.message)
    return server.probe(found.port).then(() => found.port, fail)
  }
  const port = await until(ask, readyTimeoutMs, { signal })
  if (port !== undefined) return port ?? undefined
  const tail = await logTail(`${server.dir}.log`)
  throw new Error(`${server.name} runs but does not answer: ${problem}. ${tail}`)
}

export async function start(server: Server, launch: (port: number) => Launched, signal: AbortSignal) {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const port = await freePort()
    if (await accepts(server, launch(port), port, signal)) return port
    // The port was taken, or processes of a killed server have not ended yet.
    await sleep(200 * attempt)
  }
  throw new Error(`${server.name} does not start. ${await logTail(`${server.dir}.log`)}`)
}

/** False when a launched server has ended. Ends a server that does not answer in time. @throws the reason of `signal` */
export async function accepts(server: Server, { pid, ended }: Launched, port: number, signal?: AbortSignal) {
  const answers = async () => {
    await server.probe(port)
    return true
  }
  const ask = () => (ended() ? false : answers().catch(() => undefined))
  const accepted = await until(ask, readyTimeoutMs, { signal }).catch(() => undefined)
  // At once, because it has accepted nothing.
  if (accepted === undefined) await end(pid, server.dir, 'SIGQUIT')
  signal?.throwIfAborted()
  return accepted ?? false
}

export async function stop(server: Server): Promise<void> {
  const found = await running(server)
  if (found && !(await end(found.pid, server.dir, server.stopSignal)))
    throw new Error(`${server.name} (pid ${found.pid}) did not stop in time.`)
}

async function running(server: Server): Promise<Running | undefined> {
  const last = await server.lastStart().catch(() => undefined)
  return last && (await worksIn(last.pid, server.dir)) ? last : undefined
}
