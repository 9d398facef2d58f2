import { join } from 'node:path'
import { openSocket } from './http-socket.ts'
import { percentile } from './histogram.ts'
import { storePlan } from './http-load.ts'
import type { FullReport } from './load.ts'
import type { Bench } from './measure.ts'
import { planText, readPlan } from './plan.ts'
import { residentMiB } from './process-usage.ts'
import { halfAndHalf } from './requests.ts'
import { runTool } from './tool.ts'

export interface Overload {
  connections: number
  seconds: number
  /** Requests per second: what the service does at its best, what was pushed, and what of it was served. */
  capacityPerSecond: number
  offeredPerSecond: number
  acceptedPerSecond: number
  acceptedP99Ms: number
  shedShare: number
  shedP99Ms: number
  /** Of the answers 503, how many said when to come again. */
  retryAfterShare: number
  recoverySeconds: number | null
  memoryMiB: (number | null)[]
  failures: string[]
}

const connections = 2_000
const capacity = { connections: 256, seconds: 5 }
const probe = { everyMs: 10, windowMs: 250, patienceMs: 30_000, slackMs: 5 }

/** Pushes creates and reads at twice what the service can do, and looks how soon it is itself again. */
export async function measureOverload({ servers, world, options }: Bench): Promise<Overload> {
  await servers.web(1)
  const plan = halfAndHalf(world)
  const file = await storePlan(servers.folder, 'overload', plan)
  const load = async (connections: number, seconds: number, perSecond = 0) => {
    const command = [process.execPath, join(import.meta.dirname, 'load.ts'), servers.url, file]
    const { output } = await runTool([...command, ...[connections, seconds, perSecond].map(String)])
    return JSON.parse(output.trim()) as FullReport
  }
  await load(capacity.connections, 1)
  const best = await load(capacity.connections, capacity.seconds)
  const capacityPerSecond = best.accepted / (best.micros / 1e6)
  const prober = openProber(servers.url, planText(plan))
  const normalMs = await prober.calm(2_000)
  const memory = memoryEverySecond(servers.pids.web()[0]!)
  const report = await load(connections, options.seconds, Math.round(2 * capacityPerSecond))
  const recoverySeconds = await prober.recovery(Math.max(2 * normalMs, normalMs + probe.slackMs))
  const memoryMiB = await memory()
  const perSecond = (count: number) => count / (report.micros / 1e6)
  const odd = report.unexpected - report.shed
  return {
    ...{ connections, seconds: options.seconds, capacityPerSecond },
    offeredPerSecond: perSecond(report.requests),
    acceptedPerSecond: perSecond(report.accepted),
    acceptedP99Ms: report.acceptedP99 / 1000,
    shedShare: report.shed / report.requests,
    shedP99Ms: report.shedP99 / 1000,
    retryAfterShare: report.shed ? report.shedWithRetryAfter / report.shed : 1,
    ...{ recoverySeconds, memoryMiB },
    failures: [
      ...(odd ? [`${odd} answers neither right nor 503`] : []),
      ...(report.socket ? [`${report.socket} connections cut`] : []),
    ],
  }
}

/** One polite client, who asks now and then. */
function openProber(url: string, text: string) {
  const plan = readPlan(text)
  /** The p99 of a while, endless when a request was refused. */
  const calm = async (forMs: number): Promise<number> => {
    const socket = await openSocket(url) // the one of before the load was closed meanwhile, idle as it was
    const taken: number[] = []
    for (const end = performance.now() + forMs; performance.now() < end; await Bun.sleep(probe.everyMs)) {
      const began = performance.now()
      const { status } = await socket.send(plan.next())
      taken.push(plan.isExpected(status) ? performance.now() - began : Infinity)
    }
    socket.close()
    return percentile(taken, 99)
  }
  return {
    calm,
    /** Seconds until a window began in which all was as before; null when it never came. */
    async recovery(normalMs: number): Promise<number | null> {
      const start = performance.now()
      while (performance.now() - start < probe.patienceMs) {
        const began = performance.now()
        if ((await calm(probe.windowMs)) <= normalMs) return (began - start) / 1000
      }
      return null
    },
  }
}

/** Samples the memory of a process until asked for the samples. */
function memoryEverySecond(pid: number): () => Promise<(number | null)[]> {
  const samples: (number | null)[] = []
  const look = () => void samples.push(residentMiB(pid) ?? null)
  look()
  const timer = setInterval(look, 1_000)
  return async () => {
    clearInterval(timer)
    look()
    return samples
  }
}
