import { build, type Histogram } from 'hdr-histogram-js'
import { storePlan } from './http-load.ts'
import type { Bench } from './measure.ts'
import type { PlannedRequest } from './plan.ts'
import { residentMiB } from './process-usage.ts'
import { createOf, getTask, halfAndHalf } from './requests.ts'
import type { World } from './seed.ts'
import { send } from './send.ts'

export interface Overload {
  connections: number
  seconds: number
  /** Requests per second: the capacity, the requests sent, and the requests served. */
  capacityPerSecond: number
  offeredPerSecond: number
  acceptedPerSecond: number
  /** Latencies of a normal client during the overload. */
  acceptedP99Ms: number
  shedShare: number
  shedP99Ms: number
  /** The share of 503 responses with Retry-After. */
  retryAfterShare: number
  recoverySeconds: number | null
  memoryMiB: (number | null)[]
  failures: string[]
}

const connections = 2_000
const capacity = { connections: 256, seconds: 5 }
const probe = { everyMs: 10, windowMs: 250, patienceMs: 30_000, slackMs: 5 }

export async function measureOverload({ servers, loader, world, options }: Bench): Promise<Overload> {
  await servers.web(1)
  const { seconds } = options
  const plan = await storePlan(servers.folder, 'overload', halfAndHalf(world))
  const target = { url: servers.url, plan, mayShed: true }
  await loader.run({ ...target, ...capacity, seconds: 1 })
  const { perSecond: capacityPerSecond } = await loader.run({ ...target, ...capacity })
  const prober = openNormalClient(servers.url, halfAndHalfRequests(world))
  const normalMs = p99(await prober.look(2_000))
  const memory = memoryEverySecond(servers.pids.web()[0]!)
  const [run, { accepted, shed, retryAfter }] = await Promise.all([
    loader.run({ ...target, connections, seconds }),
    prober.look(seconds * 1000),
  ])
  const recoverySeconds = await prober.recovery(Math.max(2 * normalMs, normalMs + probe.slackMs))
  const shedShare = run.shed / run.requests
  return {
    ...{ connections, seconds, capacityPerSecond, offeredPerSecond: run.perSecond },
    ...{ acceptedPerSecond: run.perSecond * (1 - shedShare), acceptedP99Ms: p99({ accepted }) },
    ...{ shedShare, shedP99Ms: p99({ accepted: shed }) },
    retryAfterShare: shed.totalCount ? retryAfter / shed.totalCount : 1,
    ...{ recoverySeconds, memoryMiB: await memory(), failures: run.errors },
  }
}

const halfAndHalfRequests = ({ projects, tasks }: World): PlannedRequest[] =>
  projects.flatMap((project, n) => [createOf(project), getTask(tasks[n]!)])

const p99 = ({ accepted }: { accepted: Histogram }): number => accepted.getValueAtPercentile(99) / 1000

function openNormalClient(url: string, requests: PlannedRequest[]) {
  let asked = 0
  const look = async (forMs: number) => {
    const seen = { accepted: build(), shed: build(), retryAfter: 0 }
    for (const end = performance.now() + forMs; performance.now() < end; await Bun.sleep(probe.everyMs)) {
      const began = performance.now()
      const { status, headers } = await send(url, requests[asked++ % requests.length]!)
      const isShed = status === 503
      if (!isShed && status > 201) throw new Error(`A normal client got ${status}`)
      seen[isShed ? 'shed' : 'accepted'].recordValue(Math.round((performance.now() - began) * 1000))
      if (isShed && headers.has('retry-after')) seen.retryAfter++
    }
    return seen
  }
  return {
    look,
    /** Seconds until the first window with the earlier latency; null if there is none. */
    async recovery(normalMs: number): Promise<number | null> {
      const start = performance.now()
      while (performance.now() - start < probe.patienceMs) {
        const began = performance.now()
        const seen = await look(probe.windowMs)
        if (seen.shed.totalCount === 0 && p99(seen) <= normalMs) return (began - start) / 1000
      }
      return null
    },
  }
}

/** Samples the memory of a process. The returned function ends the sampling and returns the samples. */
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
