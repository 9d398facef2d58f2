import autocannon from 'autocannon'
import { build } from 'hdr-histogram-js'
import type { LoadReport } from './http-load.ts'
import { readPlan } from './plan.ts'

/** Requests are built before the start, because building one costs more than sending it. */
const mostReady = 10_000

const [url = '', planFile = '', connections = '1', seconds = '1'] = process.argv.slice(2)
console.log(JSON.stringify(await load(Number(connections), Number(seconds))))
process.exit(0)

/** Sends the requests of a plan over many connections, and prints the same result as requests.lua. */
async function load(connections: number, duration: number): Promise<LoadReport> {
  const plan = readPlan(await Bun.file(planFile).text())
  const taken = build()
  const counts = { unexpected: 0, last: 0, shed: 0, socket: 0, timeout: 0 }
  const setupClient = (client: autocannon.Client) =>
    client.setRequests(plan.some(Math.ceil(mostReady / connections)))
  const options = { url, connections, duration, timeout: 20, sampleInt: 100, setupClient }
  const { promise, resolve, reject } = Promise.withResolvers<autocannon.Result>()
  autocannon(options, (error, result) => (error ? reject(error) : resolve(result)))
    .on('response', (_client, status, _bytes, ms) => {
      taken.recordValue(Math.max(1, Math.round(ms * 1000)))
      if (plan.isExpected(status)) return
      counts.unexpected++
      counts.last = status
      if (status === 503) counts.shed++
    })
    .on('reqError', ({ message }: Error) => counts[/timed out/.test(message) ? 'timeout' : 'socket']++)
  const { duration: took } = await promise
  const [p50 = 0, p99 = 0] = [50, 99].map((percent) => taken.getValueAtPercentile(percent))
  return { requests: taken.totalCount, micros: took * 1e6, p50, p99, ...counts }
}
