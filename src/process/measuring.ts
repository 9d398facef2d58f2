import { createServer } from 'node:http'
import type { Config } from '../config.ts'
import type { Family } from '../metrics/family.ts'
import { within } from '../within.ts'
import { listenAt } from './port.ts'
import type { Stopping } from './stopping.ts'

/** Who asks has little time: Prometheus ten seconds. */
const partMs = 1_500

/** What one process tells of itself. */
export type Measure = () => Family[] | Promise<Family[]>

/** What the parts of a process tell together. Of a part that cannot say (the database is away) there is nothing. */
export async function together(parts: Measure[]): Promise<Family[]> {
  const told = parts.map((part) => within(partMs, Promise.try(part)).catch(() => undefined))
  return (await Promise.all(told)).flatMap((families) => families ?? [])
}

/**
 * Serves GET /metrics in Prometheus' format on a port of its own, where one is set. `tell` answers what several processes
 * tell, each for itself. Who asks while it is asked gets the same answer. @throws ConfigError when the port cannot be had
 */
export async function serveMetrics(
  { metricsHost: host, metricsPort: port }: Config,
  stopping: Stopping,
  tell: () => Promise<Family[][]>,
): Promise<void> {
  if (port === 0) return
  const { AggregatorRegistry } = await import('prom-client')
  const write = async () => AggregatorRegistry.aggregate(await tell()).metrics()
  let underWay: Promise<string> | undefined
  const server = createServer(({ method, url }, response) => {
    const say = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type, connection: 'close' }).end(body)
    if (method !== 'GET' || url?.split('?')[0] !== '/metrics')
      return say(404, 'text/plain', 'There is only GET /metrics here\n')
    underWay ??= write().finally(() => (underWay = undefined))
    underWay.then(
      (body) => say(200, AggregatorRegistry.PROMETHEUS_CONTENT_TYPE, body),
      (error) => say(500, 'text/plain', `${error instanceof Error ? error.message : error}\n`),
    )
  })
  await listenAt(server, { host, port }, 'METRICS_')
  stopping.closes('metrics', async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
}
