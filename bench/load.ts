import { Histogram } from './histogram.ts'
import { type HttpSocket, openSocket } from './http-socket.ts'
import type { LoadReport } from './http-load.ts'
import { type ReadPlan, readPlan } from './plan.ts'

/** What this generator says beside what wrk says. Shed: answered 503. */
export interface FullReport extends LoadReport {
  accepted: number
  acceptedP99: number
  shed: number
  shedP99: number
  shedWithRetryAfter: number
}

const reopenMs = 100

const [url = '', planFile = '', connections = '1', seconds = '1', rate = '0'] = process.argv.slice(2)
const plan = readPlan(await Bun.file(planFile).text())
console.log(JSON.stringify(await load(plan, Number(connections), Number(seconds), Number(rate))))
process.exit(0)

/** Keeps `count` connections busy; with a rate, each sends at its turn at the earliest. */
async function load(plan: ReadPlan, count: number, forSeconds: number, perSecond: number) {
  const tally = openTally(plan)
  const sockets = await Promise.all(Array.from({ length: count }, () => openSocket(url)))
  const start = performance.now()
  const end = start + forSeconds * 1000
  const stepMs = perSecond ? (count / perSecond) * 1000 : 0
  const all = sockets.map((socket, n) =>
    keepBusy(socket, tally, end, { stepMs, turn: start + (stepMs * n) / count }),
  )
  await Promise.race([Promise.all(all), Bun.sleep(forSeconds * 1000)])
  return tally.report((performance.now() - start) * 1000)
}

type Tally = ReturnType<typeof openTally>

async function keepBusy(
  first: HttpSocket,
  tally: Tally,
  end: number,
  pace: { stepMs: number; turn: number },
): Promise<void> {
  let socket = first
  let { turn } = pace
  while (performance.now() < end) {
    if (pace.stepMs) {
      const early = turn - performance.now()
      if (early > 0) await Bun.sleep(early)
      // Turns that passed while the last answer was awaited are not made up for.
      turn = Math.max(turn + pace.stepMs, performance.now())
    }
    try {
      await tally.time(socket)
    } catch {
      tally.cut()
      await Bun.sleep(reopenMs)
      socket = await openSocket(url).catch(() => socket)
    }
  }
}

function openTally(plan: ReadPlan) {
  const [all, accepted, shed] = [new Histogram(), new Histogram(), new Histogram()]
  let [unexpected, last, socket, shedWithRetryAfter] = [0, 0, 0, 0]
  return {
    async time(connection: HttpSocket): Promise<void> {
      const began = performance.now()
      const { status, retryAfter } = await connection.send(plan.next())
      const micros = (performance.now() - began) * 1000
      all.add(micros)
      if (plan.isExpected(status)) return accepted.add(micros)
      unexpected++
      last = status
      if (status !== 503) return
      shed.add(micros)
      if (retryAfter) shedWithRetryAfter++
    },
    cut: () => void socket++,
    report: (micros: number): FullReport => ({
      ...{ requests: all.total, micros, p50: all.percentile(50), p99: all.percentile(99) },
      ...{ unexpected, last, socket, timeout: 0, shedWithRetryAfter },
      ...{ accepted: accepted.total, acceptedP99: accepted.percentile(99) },
      ...{ shed: shed.total, shedP99: shed.percentile(99) },
    }),
  }
}
