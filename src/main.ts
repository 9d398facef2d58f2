import process from 'node:process'
import { commands } from '../modules/commands.ts'
import { readAdmin } from '../workers/admin/admin.ts'
import { startWorkers } from '../workers/main.ts'
import { webhookFamilies } from '../workers/webhooks/families.ts'
import { react } from '../workers/reactions.ts'
import { createApp } from './app.ts'
import { type Config, readConfig, requireProductionSettings } from './config.ts'
import { givenNames } from './local/environment.ts'
import { maxReceivedBytes } from './http/json-body.ts'
import type { Log } from './log.ts'
import { withOwnServers } from './process/own-servers.ts'
import { examineWhenReached, migrateWhenReached, print, runOnDatabase } from './process/database.ts'
import { jobFamilies } from './jobs/families.ts'
import { openFirstLines, warnOfNames } from './process/first-lines.ts'
import { isLed, obeyParent, tellParent } from './process/led.ts'
import { serviceFamilies } from './process/families.ts'
import { listen } from './process/listen.ts'
import { type Measure, serveMetrics, together } from './process/measuring.ts'
import { requireFreePorts, urlsOf } from './process/port.ts'
import { inOneLine, Stopping } from './process/stopping.ts'
import { childEnvs, Supervisor } from './process/supervisor.ts'
import { openProcessFamilies } from './metrics/process-families.ts'
import { ofProcess } from './metrics/family.ts'
import { openServices } from './services.ts'
import { openTracing } from './tracing/tracing.ts'
import { ConfigError } from './setting-values.ts'

const processes = ['start', 'web', 'worker', 'migrate', 'admin', 'jobs']
/** One-off commands, without Redis and tokens. */
const errands = ['migrate', 'admin', 'jobs']

async function main(command = 'start', ...words: string[]): Promise<void> {
  if (!processes.includes(command))
    throw new ConfigError(`Say one of ${processes.join(', ')}, not "${command}"`)
  const given = readConfig(process.env)
  const isErrand = errands.includes(command)
  if (!isErrand) requireProductionSettings(given)
  const led = isLed(words)
  const isAdmin = ['admin', 'jobs'].includes(command)
  const quietly = isAdmin ? { ...given, logLevel: 'silent' } : given
  const { log, begin } = openFirstLines(command, quietly, led)
  const isRunByNpm = 'npm_lifecycle_event' in process.env
  const stopping = new Stopping({ ...given, log, isErrand, isRunByNpm, isLed: led })
  if (led) return follow(command, given, log, stopping)
  warnOfNames(log, givenNames())
  const run = async () => {
    if (!isErrand) await requireFreePorts(command, given)
    const work = isAdmin && readAdmin(command === 'jobs' ? [command, ...words] : words)
    if (work && typeof work !== 'function') return stopping.stop(print(work))
    const config = await withOwnServers(given, { command, isErrand }, log, stopping)
    const migrates = command === 'migrate' || command === 'start' || !given.databaseUrl
    if (migrates) await stopping.unlessBegun(migrateWhenReached(config.databaseUrl, log))
    if (command === 'migrate') return stopping.stop(0)
    if (typeof work === 'function') return stopping.stop(await runOnDatabase(config, work))
    if (!migrates) await stopping.unlessBegun(examineWhenReached(config.databaseUrl, log, stopping))
    if (command !== 'worker' && config.webConcurrency > 1) return lead(command, config, log, stopping, begin)
    const parts: Measure[] = []
    await serveMetrics(config, stopping, async () => [await together(parts)])
    const port = await serve(command, config, log, stopping, parts)
    if (port === undefined) return
    begin(port)
    log.info(urlsOf({ host: config.host, port }), 'listening')
  }
  await run().catch((error) => {
    begin()
    return stopping.fail(error)
  })
}

/** As a child: the parent has prepared the database, and logs the address. */
async function follow(command: string, config: Config, log: Log, stopping: Stopping): Promise<void> {
  const parts: Measure[] = []
  obeyParent(stopping, () => together(parts))
  await serve(command, config, log, stopping, parts).then(
    (port) => tellParent({ port }),
    (error) => stopping.fail(error),
  )
}

/** As a parent: children get its settings, and the servers that it has started. */
async function lead(
  command: string,
  config: Config,
  log: Log,
  stopping: Stopping,
  onPort: (port: number) => void,
): Promise<void> {
  const env = childEnvs(config, process.env)
  const supervisor = new Supervisor({ config, log, stopping, env, hasWorker: command === 'start', onPort })
  const own = openProcessFamilies()
  await serveMetrics(config, stopping, async () => [
    ofProcess('parent', own()),
    ...(await supervisor.measure()),
  ])
  return supervisor.start()
}

/** Returns the port, unless it is a worker; adds its metrics to `parts`. */
async function serve(command: string, config: Config, log: Log, stopping: Stopping, parts: Measure[]) {
  const tracing = config.otlpEndpoint ? await openTracing() : undefined
  if (tracing) stopping.closes('traces', () => tracing.close())
  const services = openServices(config, log, { commands, react }, tracing)
  stopping.closes('services', () => services.close())
  await stopping.unlessBegun(services.join(command !== 'worker'))
  if (config.metricsPort > 0) parts.push(openProcessFamilies(), () => serviceFamilies(services))
  if (command !== 'web') {
    stopping.closes('workers', startWorkers(services))
    const { background } = services.database
    parts.push(
      () => jobFamilies(background),
      () => webhookFamilies(background),
    )
  }
  if (command === 'worker') return undefined
  return listen(createApp(services), services, stopping, maxReceivedBytes)
}

main(...process.argv.slice(2)).catch((error: unknown) => {
  console.error(inOneLine(error))
  process.exit(1)
})
