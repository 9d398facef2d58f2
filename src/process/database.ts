import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { isMigrated, migrate, withConnections } from '../../drizzle/migrate.ts'
import type { Config } from '../config.ts'
import { urlsIn } from '../hosts.ts'
import type { Log } from '../logger.ts'
import type { Server } from '../postgres/connect.ts'
import { openDatabase, type Sql } from '../postgres/database.ts'
import { connectionError, errorCode, transientCodes } from '../postgres/errors.ts'
import { primaryServer } from '../postgres/primary.ts'
import { ConfigError } from '../setting-values.ts'
import { within } from '../waits.ts'
import type { Context } from './start.ts'

const maxPauseMs = 2_000
/** The check continues in the background after this time, so that an unreachable database does not delay the start. */
const checkTimeoutMs = 1_000

export async function migrateDatabase({ config, log }: Context): Promise<void> {
  await retryUntilReachable(config.databaseUrl, log, async (server) => {
    await withConnections(server, requireUsable)
    await migrate(server)
    await withConnections(server, (sql) => warnOfMissingExtensions(sql, log))
  })
  log.info('database migrations are complete')
}

/** The extensions that searches use. A migration creates them if its role may. */
const extensions = ['btree_gin', 'pg_trgm']

async function warnOfMissingExtensions(sql: postgres.Sql, log: Log): Promise<void> {
  const installed = await sql<{ name: string }[]>`select extname as name from pg_extension`
  const missing = extensions.filter((one) => !installed.some(({ name }) => name === one))
  const advice = 'Create the extensions as docs/operations.md, "Search index", describes'
  if (missing.length > 0) log.warn({ missing, advice }, 'searches lack extensions of Postgres')
}

export async function warnIfNotMigrated({ config, log, shutdown }: Context): Promise<void> {
  const check = async (sql: postgres.Sql) => {
    await requireUsable(sql)
    if (await isMigrated(sql)) await sql`select from tasks limit 0`
    else log.warn('the database is not migrated: run "npm run migrate"')
  }
  const checked = retryUntilReachable(config.databaseUrl, log, (server) => withConnections(server, check))
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

const create = "create database {database} owner {user} encoding 'UTF8' locale 'C' template template0"
const grants =
  'grant connect, create on database {database} to {user}; grant usage, create on schema public to {user}; alter role {user} set search_path = public'
const grantTables =
  'grant usage on schema drizzle to {user}; grant all on all tables in schema public, drizzle to {user}; grant all on all sequences in schema public, drizzle to {user}'
const allowWrites =
  'alter database {database} reset default_transaction_read_only; alter role {user} reset default_transaction_read_only'
const noLimits = 'alter role {user} connection limit -1; alter database {database} connection limit -1'
const useTls =
  'If the server demands TLS, add sslmode=verify-full to DATABASE_URL (for an own authority also sslrootcert), or sslmode=require'

/**
 * The advice for an operator. The first pattern that matches the code and the message counts. In the advice, {user} and
 * {database} are the names of DATABASE_URL. Without `isTemporary`, the code decides.
 */
const rows: [pattern: RegExp, advice: string, isTemporary?: boolean][] = [
  [
    /no encryption|SSL off|insecure|(SSL|TLS)\b.* required|requires? (SSL|TLS)/,
    `${useTls}. Otherwise allow this client in pg_hba.conf`,
    false,
  ],
  [
    /^(28|SASL_|AUTH_TYPE)/,
    'Set a user, a password and a certificate of the client in DATABASE_URL that this server accepts, or change the role or pg_hba.conf in the server',
    false,
  ],
  [/^3D000/, `Run: ${create}. Or set another database`],
  [/no such (user|database)|parameter/i, 'Correct DATABASE_URL, or the settings of the pooler', false],
  [
    /^53300/,
    `Stop other programs, set a higher max_connections in postgresql.conf, or run: ${noLimits}`,
    true,
  ],
  [/^(42501 permission denied for (database|schema public)|3F000|42P01)/, `Run: ${grants}`],
  [/^42501/, `Run: ${grantTables}. Or set the user that owns the tables`],
  [
    /^(42P07|42710|42723)/,
    'Another program may use this database: rename or drop what exists, or set an empty database in DATABASE_URL',
  ],
  [
    /^42(704|883) .*(gin|gist|similarity)/,
    'The schema of an extension is not in the search_path. Run: alter extension btree_gin set schema public; alter extension pg_trgm set schema public',
  ],
  [/^READ_ONLY/, `Run: ${allowWrites}`, true],
  [/^(25006|ONLY_READS|NO_WRITER)/, 'Name the primary in DATABASE_URL, or promote the standby', true],
  // Only the code counts: an interrupted TLS handshake has TLS in its message, and is temporary.
  [
    /^\S*(TLS|SSL|CERT|SELF_SIGNED)/,
    'Correct sslmode, sslrootcert, sslcert and sslkey in DATABASE_URL, or the TLS settings and the certificate of the server',
    false,
  ],
  [
    /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT)/,
    'Start Postgres, or correct the host and the port in DATABASE_URL',
  ],
]

type Explanation = { reason: string; advice: string; isTemporary: boolean }

/** Returns undefined for a defect of this service: such an error has no code. */
function explain(error: unknown, databaseUrl: string): Explanation | undefined {
  const { cause: origin } = error as { cause?: unknown }
  if (origin instanceof AggregateError) {
    const ofServers = origin.errors.map((one) => explain(one, databaseUrl))
    if (ofServers.every((one) => one?.isTemporary === false)) return ofServers[0]
  }
  const cause = errorCode(error) ? error : origin
  const code = errorCode(cause)
  if (!code) return undefined
  const { message, detail } = cause as postgres.PostgresError
  const isFromPostgres = cause instanceof postgres.PostgresError
  const { username, pathname } = new URL(urlsIn(databaseUrl)[0]!)
  const [user = '', database = ''] = [username, pathname.slice(1) || username].map(decodeURIComponent)
  const text = `${code} ${message}`
  const [, advice = '', isTemporary] = rows.find(([pattern]) => pattern.test(text)) ?? []
  return {
    reason: (message || code) + (isFromPostgres && detail ? ` (${detail})` : ''),
    advice: fill(advice, user, database),
    isTemporary: isTemporary ?? (!isFromPostgres || transientCodes.test(code)),
  }
}

function toConfigError(error: unknown, databaseUrl: string): unknown {
  const { reason, advice } = explain(error, databaseUrl) ?? {}
  return reason ? unusable(`${reason}. ${advice}`.trim()) : error
}

const unusable = (problem: string) => new ConfigError(`DATABASE_URL cannot be used: ${problem}`)

/** Writes names as SQL does. */
const fill = (advice: string, user: string, database: string) =>
  advice.replaceAll('{user}', quoted(user)).replaceAll('{database}', quoted(database))

const quoted = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`

interface Found extends Record<'encoding' | 'database' | 'user', string> {
  isReadOnly: boolean
}

/** @throws ConfigError with advice, if the database can never serve Docket */
async function requireUsable(sql: postgres.Sql) {
  const [found] = await sql<Found[]>`
    select current_setting('server_encoding') as encoding,
      current_database() as database, current_user as user,
      current_setting('transaction_read_only') = 'on' and not pg_is_in_recovery() as "isReadOnly"`
  const { encoding, user, database, isReadOnly } = found!
  if (encoding !== 'UTF8')
    throw unusable(
      `The database ${quoted(database)} has the encoding ${encoding} instead of UTF8. Run: ${fill(create, user, `${database}_utf8`)}. Then set it in DATABASE_URL`,
    )
  if (isReadOnly) throw connectionError('READ_ONLY', 'The database is read-only')
}
