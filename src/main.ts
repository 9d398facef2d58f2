import process from 'node:process'
import { commands } from '../modules/commands.ts'
import { formBytes } from '../modules/imports/schema.ts'
import { startWorkers } from '../workers/main.ts'
import { workerFamilies } from '../workers/metrics.ts'
import { parseAdmin } from '../workers/one-off/admin.ts'
import { react } from '../workers/reactions.ts'
import type { ChangedProjects } from '../workers/followers.ts'
import { createApp } from './app.ts'
import { readConfig, requireProductionSettings } from './config.ts'
import { maxReceivedBytes } from './http/json-body.ts'
import { withProcessLabel } from './metrics/counts.ts'
import {
  checkEveryMs,
  collectFamilies,
  type CollectFamilies,
  openBusyCheck,
  openProcessFamilies,
  serveMetrics,
  serviceFamilies,
} from './process/metrics-server.ts'
import { warnIfNotMigrated, migrateDatabase, printResult, runOnDatabase } from './process/database.ts'
import { listen, requireFreePorts, urlsOf } from './process/port.ts'
import { type Context, openStartupLog, warnOfUnknownSettings, withLocalServers } from './process/start.ts'
import { toOneLine, Shutdown } from './process/shutdown.ts'
import {
  childEnvs,
  handleParentMessages,
  isChild,
  openSupervisor,
  sendToParent,
} from './process/supervisor.ts'
import { openServices } from './services.ts'
import { ConfigError } from './setting-values.ts'
import { openTracing } from './tracing/tracing.ts'

const processes = ['start', 'web', 'worker', 'migrate', 'admin', 'jobs']
/** These commands need no Redis and no JWT secret. */
const oneOffCommands = ['migrate', 'admin', 'jobs']
/** After the commands have ended, closing the queues and the database pools takes up to 1 s each. */
const disconnectMs = 2_000

async function main(command = 'start', ...args: string[]): Promise<void> {
  if (!processes.includes(command))
    throw new ConfigError(`The command must be one of ${processes.join(', ')}, not "${command}"`)
  const given = readConfig(process.env)
  const isOneOff = oneOffCommands.includes(command)
  if (!isOneOff) requireProductionSettings(given)
  const isChildProcess = isChild(args)
  const isAdmin = ['admin', 'jobs'].includes(command)
  const logConfig = isAdmin ? { ...given, logLevel: 'silent' } : given
  const { log, begin } = openStartupLog(command, logConfig, isChildProcess)
  const isRunByNpm = 'npm_lifecycle_event' in process.env
  const shutdown = new Shutdown({ ...given, log, isOneOff, isRunByNpm, isChild: isChildProcess })
  const context = { command, config: given, log, shutdown }
  if (isChildProcess) return runChild(context)
  warnOfUnknownSettings(log)
  const run = async () => {
    if (!isOneOff) await requireFreePorts(command, given)
    const admin = isAdmin && parseAdmin(command === 'jobs' ? [command, ...args] : args)
    if (admin && typeof admin !== 'function') return shutdown.stop(printResult(admin))
    const config = await withLocalServers(context, isOneOff)
    const own = { ...context, config }
    const migrates = command === 'migrate' || command === 'start' || !given.databaseUrl
    if (migrates) await shutdown.unlessStopping(migrateDatabase(own))
    if (command === 'migrate') return shutdown.stop(0)
    if (typeof admin === 'function') return shutdown.stop(await runOnDatabase(config, admin))
    if (!migrates) await shutdown.unlessStopping(warnIfNotMigrated(own))
    if (command !== 'worker' && config.webConcurrency > 1) return runParent(own, begin)
    const parts: CollectFamilies[] = []
    await serveMetrics(config, shutdown, async () => [await collectFamilies(parts)])
    const port = await serve(own, parts)
    if (port === undefined) return
    begin(port)
    log.info(urlsOf({ host: config.host, port }), 'listening')
  }
  await run().catch((error) => shutdown.fail(error))
}

/** Runs as a child of a supervisor, which has migrated the database and logs the address. */
async function runChild(context: Context): Promise<void> {
  const parts: CollectFamilies[] = []
  handleParentMessages(context.shutdown, () => collectFamilies(parts))
  await serve(context, parts).then(
    (port) => sendToParent({ port }),
    (error) => context.shutdown.fail(error),
  )
}

/** Runs as the supervisor. Its children get the same settings, and the URLs of the local servers. */
async function runParent(context: Context, onPort: (port: number) => void): Promise<void> {
  const { config, shutdown } = context
  const supervisor = openSupervisor(context, childEnvs(config, process.env), onPort)
  const own = openProcessFamilies()
  await serveMetrics(config, shutdown, async () => [
    withProcessLabel('parent', own()),
    ...(await supervisor.measure()),
  ])
  return supervisor.start()
}

/** Returns the port, or undefined for a worker. Adds the metrics of the process to `parts`. */
async function serve({ command, config, log, shutdown }: Context, parts: CollectFamilies[]) {
  const tracing = config.otlpEndpoint ? await openTracing() : undefined
  if (tracing) shutdown.onClose('traces', () => tracing.close())
  const services = openServices(config, log, { commands, react }, tracing)
  shutdown.onClose('services', () => services.close(), { withinMs: config.drainTimeoutMs + disconnectMs })
  await shutdown.unlessStopping(services.join(command !== 'worker'))
  if (config.metricsPort > 0) parts.push(openProcessFamilies(), () => serviceFamilies(services))
  if (command !== 'web') {
    const changed: ChangedProjects = new Map()
    shutdown.onClose('workers', startWorkers(services, changed))
    parts.push(...workerFamilies(services, changed))
  }
  if (command === 'worker') return undefined
  setInterval(openBusyCheck(services), checkEveryMs).unref()
  const maxBytes = Math.max(maxReceivedBytes, config.importBytes + formBytes)
  return listen(createApp(services), services, shutdown, maxBytes)
}

main(...process.argv.slice(2)).catch((error: unknown) => {
  console.error(toOneLine(error))
  process.exit(1)
})
