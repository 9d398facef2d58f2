import type { Config } from '../config.ts'
import { openEndpoint, type Tell } from '../metrics/endpoint.ts'
import type { Family } from '../metrics/family.ts'
import { within } from '../within.ts'
import { metricsSettings, unusable } from './port.ts'
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

/** Opens /metrics on a port of its own, where one is set. @throws ConfigError when it cannot be had */
export async function serveMetrics(config: Config, stopping: Stopping, tell: Tell): Promise<void> {
  const { metricsHost: host, metricsPort: port } = config
  if (port === 0) return
  const close = await openEndpoint(host, port, tell).catch((error: unknown) => {
    throw unusable(error, { host, port }, metricsSettings)
  })
  stopping.closes('metrics', close)
}
