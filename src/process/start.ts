import { distance } from 'fastest-levenshtein'
import process from 'node:process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Config, settingNames } from '../config.ts'
import { variableNames } from '../local/environment.ts'
import { type Log, openBufferedLog, openLog } from '../logger.ts'
import { nearest } from '../schema/validation.ts'
import { urlsOf } from './port.ts'
import { localSecret } from '../local/files.ts'
import { startLocal } from '../local/start.ts'
import type { Shutdown } from './shutdown.ts'
import type { LogProgress } from '../local/server.ts'

/** The command `start` buffers its log until `begin(port)`, which first prints the startup banner with the URLs. */
export function openStartupLog(command: string, { host, logLevel }: Config, isChild: boolean) {
  if (isChild || command !== 'start')
    return { log: openLog(logLevel, isChild ? { pid: process.pid } : null), begin: (_port?: number) => {} }
  const { log, begin } = openBufferedLog(logLevel)
  return {
    log,
    begin(port?: number) {
      const { api, docs } = urlsOf({ host, port: port ?? 0 })
      if (port) process.stdout.write(`API         ${api}\nSwagger UI  ${docs}\n`)
      begin()
    },
  }
}

export function warnOfUnknownSettings(log: Log): void {
  for (const { name: variable, suggestion } of misspeltSettings(settingNames(), variableNames()))
    log.warn({ variable }, `unknown setting${suggestion ? `; did you mean ${suggestion}?` : ''}`)
}

/** A `.env` may also contain variables for Compose, Postgres, OpenTelemetry and the runtime. */
const foreign =
  /^(COMPOSE_|DOCKER_|POSTGRES_|REDIS_PASSWORD$|PG[A-Z]+$|OTEL_|NODE_|BUN_|NPM_|TZ$|SSL_)|_PROXY$/i
/** The environment contains variables of other programs, so only long and very similar names count. */
const closeEdits = 2
const longCharacters = 8

/** Returns the variables that look like settings but are not, and the setting that may be meant. */
export function misspeltSettings(
  settings: string[],
  { inFiles, inEnvironment }: ReturnType<typeof variableNames>,
) {
  const all = [...new Set([...inFiles, ...inEnvironment])].filter((name) => !settings.includes(name))
  return all.flatMap((name): { name: string; suggestion: string | undefined }[] => {
    if (inFiles.includes(name) && !foreign.test(name)) return [{ name, suggestion: nearest(name, settings) }]
    const isLong = name.length >= longCharacters
    const suggestion = isLong && settings.find((one) => distance(name, one) <= closeEdits)
    return suggestion ? [{ name, suggestion }] : []
  })
}

/** Postgres writes a checkpoint when it stops, and another process may be starting the servers. */
const stopMs = 30_000

export async function withLocalServers(
  given: Config,
  { command, isOneOff }: { command: string; isOneOff: boolean },
  log: Log,
  shutdown: Shutdown,
) {
  const { dataDir, databaseUrl, redisUrl, jwtSecret } = given
  const wanted = { postgres: !databaseUrl, redis: !redisUrl && !isOneOff }
  const isBuffered = command === 'start' && log.isLevelEnabled('info')
  const logProgress: LogProgress = (message, takesLong) =>
    takesLong && isBuffered ? console.error(message) : log.info(message)
  const abort = new AbortController()
  const starting = startLocal({ dataDir, ...wanted, log: logProgress, signal: abort.signal })
  const stop = () => {
    abort.abort()
    return starting.then(
      (servers) => servers.stop(),
      () => {},
    )
  }
  shutdown.onClose('local servers', stop, stopMs, true)
  const servers = await shutdown.unlessStopping(starting)
  const { withoutRedis: reason } = servers
  if (reason) log.warn({ reason }, 'starting without Redis: writes are slower, and jobs wait for Redis')
  return {
    ...given,
    databaseUrl: databaseUrl || (servers.databaseUrl ?? ''),
    redisUrl: redisUrl || (servers.redisUrl ?? missingRedisUrl(dataDir)),
    jwtSecret: jwtSecret || (isOneOff ? '' : await localSecret(dataDir)),
  }
}

/** The URL of a Unix socket that never exists. Another program could listen on a TCP port. */
const missingRedisUrl = (dataDir: string): string =>
  `unix:${pathToFileURL(join(dataDir, 'redis', 'absent.sock')).href.slice('file:'.length)}`
