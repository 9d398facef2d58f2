import process from 'node:process'
import { type Config, settingNames } from '../config.ts'
import { type Log, openLog } from '../logger.ts'
import { nearest } from '../schema/validation.ts'
import { urlsOf } from './port.ts'
import { localSecret, namesInEnvFiles } from '../local/files.ts'
import { startLocal } from '../local/start.ts'
import type { Shutdown } from './shutdown.ts'

/** A process that runs a command. */
export interface Context {
  command: string
  config: Config
  log: Log
  shutdown: Shutdown
}

/** The command `start` logs only warnings until `begin(port)`, which first prints the startup banner with the URLs. */
export function openStartupLog(command: string, { host, logLevel }: Config, isChild: boolean) {
  const log = openLog(logLevel, isChild ? { pid: process.pid } : null)
  const isHeld = command === 'start' && !isChild && logLevel === 'info'
  if (isHeld) log.level = 'warn'
  return {
    log,
    begin(port: number) {
      const { api, docs } = urlsOf({ host, port })
      if (command === 'start') process.stdout.write(`API         ${api}\nSwagger UI  ${docs}\n`)
      log.level = logLevel
    },
  }
}

/** A `.env` may also contain variables for Compose, Postgres, OpenTelemetry and the runtime. */
const foreign =
  /^(COMPOSE_|DOCKER_|POSTGRES_|REDIS_PASSWORD$|PG[A-Z]+$|OTEL_|NODE_|BUN_|NPM_|TZ$|SSL_)|_PROXY$/i

/** Warns of variables in `.env` files that are not settings. */
export function warnOfUnknownSettings(log: Log): void {
  const settings = settingNames()
  for (const variable of namesInEnvFiles()) {
    if (settings.includes(variable) || foreign.test(variable)) continue
    const suggestion = nearest(variable, settings)
    log.warn({ variable }, `unknown setting${suggestion ? `; did you mean ${suggestion}?` : ''}`)
  }
}

/** Postgres writes a checkpoint when it stops, and another process may be starting the servers. */
const stopMs = 30_000

/** Returns the configuration with the URLs of the servers and the secret that this process uses. */
export async function withLocalServers(
  { command, config: given, log, shutdown }: Context,
  isOneOff: boolean,
) {
  const { dataDir, databaseUrl, redisUrl, jwtSecret } = given
  const wanted = { postgres: !databaseUrl, redis: !redisUrl && !isOneOff }
  const logProgress = (message: string) => (command === 'start' ? console.error(message) : log.info(message))
  const abort = new AbortController()
  const starting = startLocal({ dataDir, ...wanted, log: logProgress, signal: abort.signal })
  const stop = () => {
    abort.abort()
    return starting.then(
      (servers) => servers.stop(),
      () => {},
    )
  }
  shutdown.onClose('local servers', stop, { withinMs: stopMs, isForced: true })
  const servers = await shutdown.unlessStopping(starting)
  const { withoutRedis: reason } = servers
  if (reason) log.warn({ reason }, 'starting without Redis: writes are slower, and jobs wait for Redis')
  return {
    ...given,
    databaseUrl: databaseUrl || (servers.databaseUrl ?? ''),
    redisUrl: redisUrl || (servers.redisUrl ?? missingRedisUrl),
    jwtSecret: jwtSecret || (isOneOff ? '' : await localSecret(dataDir)),
  }
}

/** No program can listen on this port. */
const missingRedisUrl = 'redis://127.0.0.1:0'
