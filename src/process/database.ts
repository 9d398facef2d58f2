import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { isMigrated, migrate } from '../../drizzle/migrate.ts'
import type { Config } from '../config.ts'
import { ConfigError } from '../setting-values.ts'
import type { Log } from '../log.ts'
import { openDatabase, type Sql } from '../postgres/database.ts'
import { writerUrl } from '../postgres/writer.ts'
import { within } from '../within.ts'
import type { Stopping } from './stopping.ts'

const longestPauseMs = 2_000
/** For the answer of a database that can be reached. */
const firstAnswerMs = 1_000

export async function migrateWhenReached(databaseUrl: string, log: Log): Promise<void> {
  await whenReached(async () => migrate(await writerUrl(databaseUrl)), log)
  log.info('database is migrated')
}

/** Warns of missing migrations. A process that serves does not wait for a database that is away. */
export async function examineWhenReached(databaseUrl: string, log: Log, stopping: Stopping): Promise<void> {
  const examined = whenReached(async () => isMigrated(await writerUrl(databaseUrl)), log).then((migrated) => {
    if (!migrated) log.warn('the database is not migrated: nothing works here before "npm run migrate"')
  })
  examined.catch((error) => stopping.fail(error))
  await within(firstAnswerMs, examined)
}

/**
 * Tries until Postgres can be reached, because processes may start in any order.
 * @throws ConfigError when Postgres rejects the connection
 */
async function whenReached<T>(attempt: () => Promise<T>, log: Log): Promise<T> {
  let told = ''
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await attempt()
    } catch (error) {
      if (!isAway(causeOf(error))) throw explained(error)
      const reason = reasonOf(error)
      if (reason !== told) log.warn({ reason }, 'Postgres is away; trying again until it is there')
      told = reason
    }
    await sleep(pauseMs)
  }
}

type Cause = { message?: string; code?: string }

const causeOf = (error: unknown): Cause => ((error as { cause?: unknown }).cause ?? error) as Cause
const reasonOf = (error: unknown): string => causeOf(error).message || causeOf(error).code || String(error)

/** Starting, stopping, full, or a standby for now. */
const passing = /^(08|53|57|25006|40|55P03)/

// An error without a code is a defect of this service.
const isAway = (cause: Cause): boolean =>
  cause instanceof postgres.PostgresError ? passing.test(cause.code) : Boolean(cause.code)

const advice: Record<string, string> = {
  '28P01': 'Set the right user and password in it.',
  '28000': 'Set a user in it whom this server lets in.',
  '3D000': 'Create it, or name another one there.',
  '42501': 'Grant this to its user, or set another one there.',
}

export function explained(error: unknown): unknown {
  const cause = causeOf(error)
  if (!(cause instanceof postgres.PostgresError) && !cause.code) return error
  const { code = '' } = cause
  const which = isAway(cause) ? 'Postgres cannot be reached' : 'Postgres refuses'
  return new ConfigError(`DATABASE_URL cannot be used. ${which}: ${reasonOf(error)}. ${advice[code] ?? ''}`)
}

type Said = { code: number; text: string }

/** Prints the result, and returns the exit code. */
export function runOnDatabase(config: Config, work: (by: { config: Config; sql: Sql }) => Promise<Said>) {
  const database = openDatabase(config)
  return work({ config, sql: database.background })
    .then(print, (error) => Promise.reject(explained(error)))
    .finally(() => database.close())
}

export function print({ code, text }: Said): number {
  if (!text) return code
  if (code === 0) console.log(text)
  else console.error(text)
  return code
}
