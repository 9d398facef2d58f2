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
/** One holds the lock, the other applies the migrations. */
const migrationConnections = 2
/** The check continues in the background after this time, so that an unreachable database does not delay the start. */
const checkTimeoutMs = 1_000

/** @param isOnly whether the process ends after the migrations */
export async function migrateDatabase(config: Config, log: Log, isOnly: boolean): Promise<void> {
  const connections = isOnly ? migrationConnections : connectionsOf(config)
  const missing = await retryUntilReachable(config.databaseUrl, log, async (server) => {
    await withConnections(server, (sql) => requireUsable(sql, connections, true))
    await migrate(server)
    return withConnections(server, missingExtensions)
  })
  log.info('database migrations are complete')
  warnAboutExtensions(log, missing)
}

/** Leaves out the connections for searches and exports, because few processes open all of them at once. */
const connectionsOf = ({ readConnections, commitSlots, backgroundConnections }: Config) =>
  readConnections + commitSlots + backgroundConnections

export async function warnIfNotMigrated(config: Config, log: Log, shutdown: Shutdown): Promise<void> {
  const checked = retryUntilReachable(config.databaseUrl, log, async (server) => {
    await withConnections(server, (sql) => requireUsable(sql, connectionsOf(config), false))
    if (!(await isMigrated(server))) return undefined
    return withConnections(server, (sql) => sql`select from tasks limit 0`.then(() => missingExtensions(sql)))
  }).then((missing) => {
    if (missing) warnAboutExtensions(log, missing)
    else log.warn('the database is not migrated: run "npm run migrate"')
  })
  checked.catch((error) => shutdown.fail(error))
  await within(checkTimeoutMs, checked)
}

/** Processes and Postgres may start in any order. @throws ConfigError if waiting cannot help */
async function retryUntilReachable<T>(
  databaseUrl: string,
  log: Log,
  attempt: (server: Server) => Promise<T>,
): Promise<T> {
  let lastReason: string | undefined
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await attempt(primaryServer(databaseUrl))
    } catch (error) {
      const { reason, advice, isFromPostgres, isTemporary } = explain(error, databaseUrl) ?? {}
      if (!isTemporary) throw toConfigError(error, databaseUrl)
      const message = isFromPostgres ? 'Postgres cannot be used yet' : 'Postgres cannot be reached'
      if (reason !== lastReason) log.warn({ reason, ...(advice && { advice }) }, `${message}; retrying`)
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

const uses: Record<string, string> = {
  btree_gin: 'searches are slower in a database with many projects',
  pg_trgm: 'searches without a hit suggest no similar titles',
}

/** Returns the extensions that the search uses and the database lacks. */
export async function missingExtensions(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select extname as name from pg_extension`
  return Object.keys(uses).filter((name) => !rows.some((row) => row.name === name))
}

function warnAboutExtensions(log: Log, missing: string[]): void {
  if (missing.length === 0) return
  const effects = missing.map((name) => `${uses[name]} (${name})`).join(', and ')
  log.warn(`the database lacks an extension: ${effects}`)
}
