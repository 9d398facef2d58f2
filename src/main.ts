import process from 'node:process'
import { migrate } from '../drizzle/migrate.ts'
import { react } from '../workers/reactions.ts'
import { manageJobs } from '../workers/jobs-command.ts'
import { startWorkers } from '../workers/main.ts'
import { createApp } from './app.ts'
import { type Config, ConfigError, readConfig } from './core/config.ts'
import { openDatabase } from './core/database.ts'
import { mostReceivedBytes } from './core/json-body.ts'
import { type Log, openLog } from './core/log.ts'
import { localSecret } from './local/secret.ts'
import { startLocal } from './local/start.ts'
import { openServices, type Services } from './services.ts'

const commands = ['start', 'web', 'worker', 'migrate', 'jobs']
/** Those that need neither Redis nor tokens, and do their work and end. */
const errands = ['migrate', 'jobs']

async function main(command = 'start', ...words: string[]): Promise<void> {
  if (!commands.includes(command))
    throw new ConfigError(`Say one of ${commands.join(', ')}, not "${command}"`)
  const given = readConfig(process.env)
  const log = openLog(command === 'jobs' ? 'silent' : given.logLevel)
  const { config, stopLocal, local } = await withLocalServers(given, command, log)
  const closers: (() => Promise<void>)[] = [stopLocal]
  const stopped = stopOnSignal(closers, log, config.drainTimeoutMs)

  if (command === 'migrate' || command === 'start' || local) await migrate(config.databaseUrl)
  if (command === 'jobs') process.exitCode = await runJobsCommand(config, words).finally(stopLocal)
  if (command === 'migrate') await stopLocal()
  if (errands.includes(command)) return

  const services = openServices(config, log, react)
  closers.unshift(() => services.close())
  if (command !== 'web') closers.unshift(startWorkers(services))
  if (command !== 'worker') closers.unshift(listen(services))
  await stopped
}

/** Fills what the environment leaves open with servers and a secret of this machine's own. */
async function withLocalServers(given: Config, command: string, log: Log) {
  const isErrand = errands.includes(command)
  const [postgres, redis] = [!given.databaseUrl, !given.redisUrl && !isErrand]
  const local = postgres || redis
  if (!isErrand && !given.jwtSecret && given.production && !postgres) {
    throw new ConfigError(
      'JWT_SECRET must be set when NODE_ENV is production: at least 32 bytes, the same everywhere',
    )
  }
  const { dataDir } = given
  const servers = await startLocal({ dataDir, postgres, redis, log: (message) => log.info(message) })
  const config: Config = {
    ...given,
    databaseUrl: given.databaseUrl || (servers.databaseUrl ?? ''),
    redisUrl: given.redisUrl || (servers.redisUrl ?? ''),
    jwtSecret: given.jwtSecret || (isErrand ? '' : await localSecret(dataDir)),
  }
  return { config, local, stopLocal: () => servers.stop() }
}

async function runJobsCommand(config: Config, words: string[]): Promise<number> {
  const database = openDatabase(config)
  const { code, text } = await manageJobs(database.chores, words).finally(() => database.close())
  if (code === 0) console.log(text)
  else console.error(text)
  return code
}

function listen({ config, log, ...rest }: Services): () => Promise<void> {
  const app = createApp({ config, log, ...rest }).listen({
    hostname: config.host,
    port: config.port,
    reusePort: config.reusePort,
    maxRequestBodySize: mostReceivedBytes,
    idleTimeout: 30,
  })
  const host = config.host === '0.0.0.0' ? 'localhost' : config.host
  const url = `http://${host}:${app.server?.port}`
  log.info({ api: `${url}/api/v1`, docs: `${url}/api/docs` }, 'listening')
  // Takes no new connections, and answers what is under way.
  return async () => void (await app.server?.stop())
}

/** Runs the closers in order at the first signal, then exits: 0 when all was closed in time. */
function stopOnSignal(closers: (() => Promise<void>)[], log: Log, drainTimeoutMs: number): Promise<never> {
  let stopping = false
  const stop = async (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'stopping')
    for (const close of closers) {
      const late = new Promise((resolve) => setTimeout(resolve, drainTimeoutMs))
      await Promise.race([close(), late]).catch((error) =>
        log.error({ reason: String(error) }, 'not closed cleanly'),
      )
    }
    process.exit(0)
  }
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
  return new Promise(() => {})
}

main(...process.argv.slice(2)).catch((error: Error) => {
  console.error(error instanceof ConfigError ? error.message : error)
  process.exit(1)
})
