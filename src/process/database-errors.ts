import postgres from 'postgres'
import { urlsIn } from '../hosts.ts'
import { connectionError, errorCode, transientCodes } from '../postgres/errors.ts'
import { ConfigError } from '../setting-values.ts'

const create = "create database {database} owner {user} encoding 'UTF8' locale 'C' template template0"
const grantTables = ['tables', 'sequences']
  .map((kind) => `grant all on all ${kind} in schema public, drizzle to {user}`)
  .join('; ')
const allowWrites =
  'alter database {database} reset default_transaction_read_only; alter role {user} reset default_transaction_read_only'
const useTls =
  'If the server demands TLS, add sslmode=verify-full to DATABASE_URL (for an own authority also sslrootcert), or sslmode=require'

/**
 * The advice for an operator. The first pattern that matches the code and the message counts. In the advice, {user} and
 * {database} are the names of DATABASE_URL, and {object} is the text that the pattern captures. Without `isTemporary`,
 * the code decides.
 */
const rows: [pattern: RegExp, advice: string, isTemporary?: boolean][] = [
  [
    /no encryption|SSL off|insecure|(SSL|TLS)\b.* required|requires? (SSL|TLS)/,
    `${useTls}. Otherwise allow this client in pg_hba.conf`,
    false,
  ],
  [/^28000 .*certificate/, 'Set sslcert and sslkey in DATABASE_URL to files that this server accepts'],
  [/^28000 no pg_hba/, 'Allow this client in pg_hba.conf, or set a user that this server accepts'],
  [/^28000 .*not permitted to log in/, 'Run: alter role {user} login'],
  [/^NO_USER/, 'Add the user: postgres://user:password@host/database'],
  [/^28000 role .* does not exist/, "Run: create role {user} login password '…'. Or set another user"],
  [/^28P01/, 'Correct the user or the password in DATABASE_URL'],
  [/^28/, 'Set a user that this server accepts in DATABASE_URL'],
  [/^3D000/, `Run: ${create}. Or set another database`],
  [/no such (user|database)/i, 'Correct DATABASE_URL, or the settings of the pooler', false],
  [/^55000 .*not currently accepting/, 'Run: alter database {database} allow_connections true'],
  [/^53300 .*for role/, 'Stop other programs of this user, or run: alter role {user} connection limit -1'],
  [/^53300 .*for database/, 'Stop other programs, or run: alter database {database} connection limit -1'],
  [/^53300/, 'Stop other programs, or set a higher max_connections in postgresql.conf'],
  [/^42501 permission denied for schema (\S+)/, 'Run: grant usage, create on schema {object} to {user}'],
  [/^42501 permission denied for database/, 'Run: grant connect, create on database {database} to {user}'],
  [/^42501 permission denied for/, `Run: ${grantTables}`],
  [
    /^42501 must be owner/,
    'Set the user that owns the tables, or run: reassign owned by OTHER_USER to {user}',
  ],
  [/^42501/, 'Grant this right to the user, or set another user in DATABASE_URL'],
  [
    /^(3F000|42P01)/,
    'Run: grant usage, create on schema public to {user}; alter role {user} set search_path = public',
  ],
  [
    /^(42P07|42710|42723)/,
    'Another program may use this database: rename or drop what exists, or set an empty database in DATABASE_URL',
  ],
  [/parameter:? "?([\w.]+)/, 'Remove {object} from DATABASE_URL, or correct its value', false],
  [
    /^42(704|883) .*(gin|gist|similarity)/,
    'The schema of an extension is not in the search_path. Run: alter extension btree_gin set schema public; alter extension pg_trgm set schema public',
  ],
  [/^READ_ONLY/, `Run: ${allowWrites}`, true],
  [
    /^25006|^ONLY_READS|^NO_WRITER/,
    `Name the primary in DATABASE_URL, or promote the standby. If this server is no standby, run: ${allowWrites}`,
    true,
  ],
  [/^TLS_UNSUPPORTED/, 'Turn on ssl in the server, or set sslmode=disable in DATABASE_URL', false],
  [/ALTNAME/, 'Set the host name of the certificate in DATABASE_URL, or sslmode=verify-ca', false],
  [/ALERT/, 'Set sslcert and sslkey in DATABASE_URL to files that the server accepts', false],
  [/EXPIRED|NOT_YET_VALID/, 'Renew the certificate of the server', false],
  [
    /CERT|SELF_SIGNED/,
    'Set sslrootcert in DATABASE_URL to a file with the authority that signed the certificate of the server',
    false,
  ],
  [/^ERR_(SSL|OSSL|TLS)/, 'Check the TLS settings of the server', false],
  [/^(SASL_|AUTH_TYPE)/, 'Set scram-sha-256 for this user in pg_hba.conf', false],
  [
    /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT)/,
    'Start Postgres, or correct the host and the port in DATABASE_URL',
  ],
]

type Explanation = { reason: string; advice: string; isFromPostgres: boolean; isTemporary: boolean }

/** Returns undefined for a defect of this service: such an error has no code. */
export function explain(error: unknown, databaseUrl: string): Explanation | undefined {
  const { cause: origin } = error as { cause?: unknown }
  if (origin instanceof AggregateError) {
    const ofServers = origin.errors.map((one) => explain(one, databaseUrl))
    if (ofServers.every((one) => one?.isTemporary === false)) return ofServers[0]
  }
  const cause = errorCode(error) ? error : (origin ?? error)
  const code = errorCode(cause)
  if (!code) return undefined
  const { message, detail } = cause as postgres.PostgresError
  const isFromPostgres = cause instanceof postgres.PostgresError || code === 'READ_ONLY'
  const { username, pathname } = new URL(urlsIn(databaseUrl)[0]!)
  const text = !username && code.startsWith('28') ? 'NO_USER' : `${code} ${message}`
  const [pattern, advice = '', isTemporary] = rows.find(([one]) => one.test(text)) ?? []
  const [user = '', database = ''] = [username, pathname.slice(1) || username].map(decodeURIComponent)
  return {
    reason: (message || code) + (isFromPostgres && detail ? ` (${detail})` : ''),
    advice: fill(advice, user, database, pattern?.exec(text)?.[1]),
    isFromPostgres,
    isTemporary: isTemporary ?? (!isFromPostgres || transientCodes.test(code)),
  }
}

export function toConfigError(error: unknown, databaseUrl: string): unknown {
  const explanation = explain(error, databaseUrl)
  if (!explanation) return error
  const { reason, advice, isFromPostgres, isTemporary } = explanation
  const unreachable = isTemporary ? 'Postgres cannot be reached' : 'The connection fails'
  return unusable(`${isFromPostgres ? 'Postgres reports' : unreachable}: ${reason}. ${advice}`.trim())
}

const unusable = (problem: string) => new ConfigError(`DATABASE_URL cannot be used. ${problem}`)

/** Writes names as SQL does. */
const fill = (advice: string, user: string, database: string, object = '') =>
  advice
    .replaceAll('{user}', quoted(user))
    .replaceAll('{database}', quoted(database))
    .replace('{object}', object)

const quoted = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`

/** Postgres 13 lacks a function that a restore uses. */
const minVersion = 14

interface Found extends Record<'version' | 'encoding' | 'database' | 'user', string> {
  /** Null without a limit. */
  maxConnections: number | null
  isReadOnly: boolean
  /** Null before the first migration. */
  mayWrite: boolean | null
}

/**
 * @param connections the number of connections that this process opens under load
 * @throws ConfigError with advice, if the server, its database or the user can never serve Docket
 */
export async function requireUsable(sql: postgres.Sql, connections: number, isMigrating: boolean) {
  const [found] = await sql<Found[]>`
    select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
      current_database() as database, current_user as user,
      case when not rolsuper then least(nullif(rolconnlimit, -1), nullif(datconnlimit, -1)) end as "maxConnections",
      current_setting('transaction_read_only') = 'on' and not pg_is_in_recovery() as "isReadOnly",
      (select case when to_regnamespace('drizzle') is not null then bool_and(has_table_privilege(to_regclass('tasks'), privilege)) end
        from unnest(array['select', 'insert', 'update', 'delete']) privilege) as "mayWrite"
    from pg_roles, pg_database where rolname = current_user and datname = current_database()`
  const { user, database } = found!
  const problem = problemOf(found!, connections, isMigrating)
  if (problem) throw unusable(fill(problem, user, database))
  if (found!.isReadOnly) throw connectionError('READ_ONLY', 'the database is read-only')
}

function problemOf(found: Found, connections: number, isMigrating: boolean): string | undefined {
  const { version, encoding, maxConnections, isReadOnly, mayWrite, database } = found
  if (Number.parseInt(version, 10) < minVersion)
    return `Its server is Postgres ${version}. Set a server with Postgres ${minVersion} or later; 18 is the tested version`
  if (encoding !== 'UTF8') {
    const command = fill(create, found.user, `${database}_utf8`)
    return `The database {database} has the encoding ${encoding} instead of UTF8. Run: ${command}. Then set it in DATABASE_URL`
  }
  if (maxConnections !== null && maxConnections < connections)
    return `Its user or its database has a connection limit of ${maxConnections}, but each process opens up to ${connections} connections. Run: alter role {user} connection limit -1; alter database {database} connection limit -1`
  if (isReadOnly && isMigrating) return `The database is read-only. Run: ${allowWrites}`
  if (mayWrite === false) return `Its user may not read and write the tables. Run: ${grantTables}`
  return undefined
}
