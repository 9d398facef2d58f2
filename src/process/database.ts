import { setTimeout as sleep } from 'node:timers/promises'
import { isMigrated, migrate, withConnections } from '../../drizzle/migrate.ts'
import type { Config } from '../config.ts'
import type { Log } from '../logger.ts'
import type { Server } from '../postgres/connect.ts'
import { openDatabase, type Sql } from '../postgres/database.ts'
import { primaryServer } from '../postgres/primary.ts'
import { within } from '../waits.ts'
import { explain, requireUsable, toConfigError } from './database-errors.ts'
import type { Shutdown } from './shutdown.ts'

const maxPauseMs = 2_000
/** The check continues in the background after this time, so that an unreachable database does not delay the start. */
const checkTimeoutMs = 1_000

export async function migrateDatabase({ databaseUrl }: Config, log: Log): Promise<void> {
  await retryUntilReachable(databaseUrl, log, async (server) => {
    await withConnections(server, requireUsable)
    await migrate(server)
  })
  log.info('database migrations are complete')
}

export async function warnIfNotMigrated(
  { databaseUrl }: Config,
  log: Log,
  shutdown: Shutdown,
): Promise<void> {
  const checked = retryUntilReachable(databaseUrl, log, async (server) => {
    await withConnections(server, requireUsable)
    if (!(await isMigrated(server))) log.warn('the database is not migrated: run "npm run migrate"')
    else await withConnections(server, (sql) => sql`select from tasks limit 0`)
  })
  checked.catch((error) => shutdown.fail(error))
  await within(checkTimeoutMs, checked)
}

/** Processes and Postgres may start in any order. @throws ConfigError if waiting cannot help */
async function retryUntilReachable(
  databaseUrl: string,
  log: Log,
  attempt: (server: Server) => Promise<unknown>,
): Promise<void> {
  let lastReason: string | undefined
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      await attempt(primaryServer(databaseUrl))
      return
    } catch (error) {
      const { reason, advice, isTemporary } = explain(error, databaseUrl) ?? {}
      if (!isTemporary) throw toConfigError(error, databaseUrl)
      if (reason !== lastReason)
        log.warn({ reason, advice: advice || undefined }, 'Postgres cannot be used yet; retrying')
      lastReason = reason
    }
    await sleep(pauseMs)
  }
}

type CommandResult = { code: number; text: string }
type Command = (dependencies: { config: Config; sql: Sql }) => Promise<CommandResult>

export function runOnDatabase(config: Config, command: Command) {
  const database = openDatabase(config)
  return command({ config, sql: database.background })
    .then(printResult, (error) => Promise.reject(toConfigError(error, config.databaseUrl)))
    .finally(() => database.close())
}

export function printResult({ code, text }: CommandResult): number {
  if (!text) return code
  if (code === 0) console.log(text)
  else console.error(text)
  return code
}
