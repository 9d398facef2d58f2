import { createServer } from 'node:http'
import process from 'node:process'
import { readFileSync } from 'node:fs'
import type { Config } from '../config.ts'
import type { Services } from '../services.ts'
import type { Standbys } from '../reads/standbys.ts'
import { within } from '../waits.ts'
import { listenAt } from './port.ts'
import type { Shutdown } from './shutdown.ts'
import {
  countFamilies,
  counter,
  Distribution,
  type Family,
  gauge,
  histogram,
  labelledBy,
  lagFamilies,
  type WithLabels,
} from '../metrics/counts.ts'
import type { Log } from '../logger.ts'

const collectTimeoutMs = 1_500

export type CollectFamilies = () => Family[] | Promise<Family[]>

export async function collectFamilies(parts: CollectFamilies[]): Promise<Family[]> {
  const collected = parts.map((part) => within(collectTimeoutMs, Promise.try(part)).catch(() => undefined))
  return (await Promise.all(collected)).flatMap((families) => families ?? [])
}

/** Serves GET /metrics on METRICS_PORT, if that is set. */
export async function serveMetrics(config: Config, shutdown: Shutdown, readAll: () => Promise<Family[][]>) {
  const { metricsHost: host, metricsPort: port } = config
  if (port === 0) return
  const { AggregatorRegistry } = await import('prom-client')
  const write = async () => AggregatorRegistry.aggregate(await readAll()).metrics()
  const server = createServer(({ method, url }, response) => {
    const respond = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type, connection: 'close' }).end(body)
    if (method !== 'GET' || url?.split('?')[0] !== '/metrics')
      return respond(404, 'text/plain', 'This port serves only GET /metrics\n')
    write().then(
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

export function serviceFamilies({ actors, counts, subscriptions, standbys }: Services): Family[] {
  const { waiting, deepest } = actors.load()
  const open = subscriptions.inProgress()
  const { streams, events, seconds } = subscriptions.lags.worst()
  return [
    ...countFamilies(counts),
    gauge('waiting_commands', 'Commands that wait or run.', waiting),
    gauge('mailbox_depth_commands', 'Commands in the fullest mailbox.', deepest),
    gauge('streams_open', 'Open streams of server-sent events.', streams),
    gauge('followers_open', 'Open streams and long polls.', open),
    ...lagFamilies('stream', events, seconds),
    ...(standbys ? standbyFamilies(standbys) : []),
  ]
}

function standbyFamilies({ all }: NonNullable<Standbys>): Family[] {
  const reads = all.flatMap(({ name: standby, counts }) =>
    labelledBy('outcome', counts).map(([labels, n]): WithLabels<number> => [{ standby, ...labels }, n]),
  )
  const lags = (of: 'lagSeconds' | 'lagVersions') =>
    labelledBy('standby', Object.fromEntries(all.map((one) => [one.name, one[of]])))
  return [
    counter('standby_reads_total', 'Reads that tried a standby, by outcome.', reads),
    gauge('standby_lag_seconds', 'Time since the standby had all changes.', lags('lagSeconds')),
    gauge('standby_lag_versions', 'Missing versions of the project with most of them.', lags('lagVersions')),
  ]
}

const timerMs = 50

export function openProcessFamilies(): () => Family[] {
  const delays = new Distribution()
  let due = performance.now() + timerMs
  const measure = () => {
    delays.add(Math.max(0, performance.now() - due) / 1_000)
    due = performance.now() + timerMs
  }
  setInterval(measure, timerMs).unref()
  const startedAt = Date.now() / 1_000 - process.uptime()
  return () => {
    const { user, system } = process.cpuUsage()
    const cpu = labelledBy('mode', { user: user / 1e6, system: system / 1e6 })
    return [
      counter('process_cpu_seconds_total', 'CPU time.', cpu),
      gauge('process_resident_memory_bytes', 'Resident memory.', process.memoryUsage.rss()),
      gauge('process_start_time_seconds', 'Start time of the process, in seconds since 1970.', startedAt),
      histogram('event_loop_delay_seconds', `Delay of a timer that is due every ${timerMs} ms.`, delays),
    ]
  }
}

export const checkEveryMs = 60_000
const warnEveryMs = 3_600_000
const maxBusy = 0.8

/** Returns a function for each minute. The function warns if the event loop of a home was busy, at most once an hour. */
export function openBusyCheck(
  { isHome, log }: { isHome(): boolean; log: Log },
  readBusyMs = busyMs,
  now = () => performance.now(),
) {
  let last = { at: now(), busyMs: readBusyMs() }
  let warnedAt = -Infinity
  return (): void => {
    const current = { at: now(), busyMs: readBusyMs() }
    const busy = (current.busyMs - last.busyMs) / (current.at - last.at)
    last = current
    if (busy <= maxBusy || !isHome() || current.at - warnedAt < warnEveryMs) return
    warnedAt = current.at
    log.warn(
      { busyPercent: Math.round(100 * Math.min(1, busy)) },
      'the event loop of this home was busy for more than 80 % of the last minute: run more web processes, and set a higher WRITE_SHARDS in all of them',
    )
  }
}

/**
 * Returns for how long the main thread has run or has waited for a core. On the runtime Bun,
 * `performance.eventLoopUtilization` always returns 0. Outside Linux, the time of waiting for a core is unknown.
 */
export function busyMs(): number {
  try {
    const [ranNs, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ').map(Number)
    return (ranNs! + waitedNs!) / 1e6
  } catch {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
}
