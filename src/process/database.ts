import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { isMigrated, migrate, withConnections } from '../../drizzle/migrate.ts'
import type { Config } from '../config.ts'
import { ConfigError } from '../setting-values.ts'
import type { Log } from '../log.ts'
import { openDatabase, type Sql } from '../postgres/database.ts'
import { transientCodes } from '../postgres/errors.ts'
import { missingExtensions, warnAboutExtensions } from '../postgres/extensions.ts'
import { primaryUrl } from '../postgres/primary.ts'
import { within } from '../within.ts'
import type { Shutdown } from './shutdown.ts'

const maxPauseMs = 2_000
/** The check continues in the background after this time, so that an unreachable database does not delay the start. */
const checkTimeoutMs = 1_000

export async function migrateDatabase(databaseUrl: string, log: Log): Promise<void> {
  const missing = await retryUntilReachable(async () => {
    const url = await primaryUrl(databaseUrl)
    await migrate(url)
    return withConnections(url, missingExtensions)
  }, log)
  log.info('database migrations are complete')
  warnAboutExtensions(log, missing)
}

export async function warnIfNotMigrated(databaseUrl: string, log: Log, shutdown: Shutdown): Promise<void> {
  const checked = retryUntilReachable(async () => {
    const url = await primaryUrl(databaseUrl)
    return (await isMigrated(url)) ? withConnections(url, missingExtensions) : undefined
  }, log).then((missing) => {
    if (missing) warnAboutExtensions(log, missing)
    else log.warn('the database is not migrated: run "npm run migrate"')
  })
  checked.catch((error) => shutdown.fail(error))
  await within(checkTimeoutMs, checked)
}

/** Processes and Postgres may start in any order. @throws ConfigError when Postgres rejects the connection */
async function retryUntilReachable<T>(attempt: () => Promise<T>, log: Log): Promise<T> {
  let lastReason = ''
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await attempt()
    } catch (error) {
      if (!isUnreachable(causeOf(error))) throw toConfigError(error)
      const reason = reasonOf(error)
      if (reason !== lastReason) log.warn({ reason }, 'Postgres cannot be reached; retrying')
      lastReason = reason
    }
    await sleep(pauseMs)
  }
}

type Cause = { message?: string; code?: string }

const causeOf = (error: unknown): Cause => ((error as { cause?: unknown }).cause ?? error) as Cause
const reasonOf = (error: unknown): string => causeOf(error).message || causeOf(error).code || String(error)

// An error without a code is a defect of this service.
const isUnreachable = (cause: Cause): boolean =>
  cause instanceof postgres.PostgresError ? transientCodes.test(cause.code) : Boolean(cause.code)

const advice: Record<string, string> = {
  '28P01': 'Correct the user or the password.',
  '28000': 'Set a user that this server accepts.',
  '3D000': 'Create the database, or set the name of another.',
  '42501': 'Grant this privilege to the user, or set another user.',
}

export function toConfigError(error: unknown): unknown {
  const cause = causeOf(error)
  if (!(cause instanceof postgres.PostgresError) && !cause.code) return error
  const { code = '' } = cause
  const which = isUnreachable(cause) ? 'Postgres cannot be reached' : 'Postgres rejects the connection'
  return new ConfigError(`DATABASE_URL cannot be used. ${which}: ${reasonOf(error)}. ${advice[code] ?? ''}`)
}

type CommandResult = { code: number; text: string }
type Command = (dependencies: { config: Config; sql: Sql }) => Promise<CommandResult>

export function runOnDatabase(config: Config, command: Command) {
  const database = openDatabase(config)
  return command({ config, sql: database.background })
    .then(print, (error) => Promise.reject(toConfigError(error)))
    .finally(() => database.close())
}

export function print({ code, text }: CommandResult): number {
  if (!text) return code
  if (code === 0) console.log(text)
  else console.error(text)
  return code
}
