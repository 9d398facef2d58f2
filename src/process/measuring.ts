import { createServer } from 'node:http'
import type { Config } from '../config.ts'
import type { Family } from '../metrics/family.ts'
import { within } from '../within.ts'
import { listenAt } from './port.ts'
import type { Stopping } from './stopping.ts'

/** Prometheus waits ten seconds for all. */
const partMs = 1_500

export type Measure = () => Family[] | Promise<Family[]>

/** The families of all parts. A part that fails, because the database is away, has none. */
export async function together(parts: Measure[]): Promise<Family[]> {
  const told = parts.map((part) => within(partMs, Promise.try(part)).catch(() => undefined))
  return (await Promise.all(told)).flatMap((families) => families ?? [])
}

/**
 * Serves GET /metrics in the format of Prometheus on a port of its own, if one is set. Concurrent requests share an answer.
 * @throws ConfigError when the port cannot be opened
 */
export async function serveMetrics(config: Config, stopping: Stopping, tell: () => Promise<Family[][]>) {
  const { metricsHost: host, metricsPort: port } = config
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
