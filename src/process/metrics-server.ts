import { createServer } from 'node:http'
import type { Config } from '../config.ts'
import { countFamilies } from '../metrics/families.ts'
import { type Family, labelledBy, gauge } from '../metrics/family.ts'
import { lagFamilies } from '../metrics/lag-families.ts'
import type { Services } from '../services.ts'
import { within } from '../waits.ts'
import { listenAt } from './port.ts'
import type { Shutdown } from './shutdown.ts'

const collectTimeoutMs = 1_500

export type CollectFamilies = () => Family[] | Promise<Family[]>

export async function collect(parts: CollectFamilies[]): Promise<Family[]> {
  const collected = parts.map((part) => within(collectTimeoutMs, Promise.try(part)).catch(() => undefined))
  return (await Promise.all(collected)).flatMap((families) => families ?? [])
}

/** Serves GET /metrics on METRICS_PORT, if that is set. Concurrent requests share one response. */
export async function serveMetrics(config: Config, shutdown: Shutdown, readAll: () => Promise<Family[][]>) {
  const { metricsHost: host, metricsPort: port } = config
  if (port === 0) return
  const { AggregatorRegistry } = await import('prom-client')
  const write = async () => AggregatorRegistry.aggregate(await readAll()).metrics()
  let pending: Promise<string> | undefined
  const server = createServer(({ method, url }, response) => {
    const respond = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type, connection: 'close' }).end(body)
    if (method !== 'GET' || url?.split('?')[0] !== '/metrics')
      return respond(404, 'text/plain', 'This port serves only GET /metrics\n')
    pending ??= write().finally(() => (pending = undefined))
    pending.then(
      (body) => respond(200, AggregatorRegistry.PROMETHEUS_CONTENT_TYPE, body),
      (error) => respond(500, 'text/plain', `${error instanceof Error ? error.message : error}\n`),
    )
  })
  await listenAt(server, { host, port }, 'METRICS_')
  shutdown.onClose('metrics', async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
}

export function serviceFamilies({ actors, config, counts, subscriptions }: Services): Family[] {
  const { known, waiting, deepest, stateBytes, leases } = actors.load()
  const open = subscriptions.inProgress()
  const { streams, events, seconds } = subscriptions.lags.worst()
  const { readConnections: reads, commitSlots: commits, backgroundConnections: background } = config
  const pools = labelledBy('pool', { reads, commits, background })
  return [
    ...countFamilies(counts),
    gauge('postgres_connections', 'Connection limit of each pool.', pools),
    gauge('waiting_commands', 'Commands that wait or run.', waiting),
    gauge('mailbox_depth_commands', 'Commands in the fullest mailbox.', deepest),
    gauge('actors', 'Projects whose actor is in memory.', known),
    gauge('actor_state_bytes', 'Approximate memory of all actors.', stateBytes),
    gauge('leases_held', 'Leases that this process holds.', leases),
    gauge('streams_open', 'Open streams of server-sent events.', streams),
    gauge('followers_open', 'Open streams and long polls.', open),
    ...lagFamilies('stream', events, seconds),
  ]
}
