import postgres from 'postgres'
import { urlsIn } from '../hosts.ts'
import { errorCode, transientCodes } from '../postgres/errors.ts'
import { ConfigError } from '../setting-values.ts'

interface Names {
  user: string
  database: string
  /** The part of the message in the first parentheses of the pattern, as Postgres quotes it. */
  object: string
}

/** The oldest version on which the migrations and the tests of the statements pass. */
const minVersion = 15

type Row = [pattern: RegExp, advice: string | ((names: Names) => string), effect?: 'ends' | 'waits']

const tlsAdvice =
  'If the server demands TLS, add sslmode=verify-full to DATABASE_URL, with sslrootcert for an own authority, or sslmode=require'

/** What an operator can do, by the code and the message of an error. The first row that matches counts. */
const rows: Row[] = [
  [
    /no encryption|SSL off|insecure|(SSL|TLS)\b.* required|requires? (SSL|TLS)/,
    `${tlsAdvice}. Otherwise allow this client in pg_hba.conf`,
    'ends',
  ],
  [/^28000 .*certificate/, 'Set sslcert and sslkey in DATABASE_URL to files that this server accepts'],
  [/^28000 no pg_hba/, 'Allow this client in pg_hba.conf, or set a user that this server accepts'],
  [/^28000 .*not permitted to log in/, ({ user }) => `Run: alter role ${user} login`],
  [
    /^28000 role .* does not exist/,
    ({ user }) => `Run: create role ${user} login password '…'. Or set another user`,
  ],
  [/^28P01/, 'Correct the user or the password in DATABASE_URL'],
  [/^28/, 'Set a user that this server accepts in DATABASE_URL'],
  [
    /^3D000/,
    ({ user, database }) =>
      `Run: create database ${database} owner ${user} encoding 'UTF8' locale 'C' template template0. Or set another database`,
  ],
  [
    /^55000 .*not currently accepting connections/,
    ({ database }) => `Run: alter database ${database} allow_connections true`,
  ],
  [
    /^53300 .*for role/,
    ({ user }) => `Stop other programs of this user, or run: alter role ${user} connection limit -1`,
  ],
  [
    /^53300 .*for database/,
    ({ database }) => `Stop other programs, or run: alter database ${database} connection limit -1`,
  ],
  [/^53300/, 'Stop other programs, or set a higher max_connections in postgresql.conf'],
  [
    /^42501 permission denied for schema (.+?)(?: at|$)/,
    ({ user, object }) => `Run: grant usage, create on schema ${object} to ${user}`,
  ],
  [
    /^42501 permission denied for database/,
    ({ user, database }) => `Run: grant connect, create on database ${database} to ${user}`,
  ],
  [
    /^42501 permission denied for/,
    ({ user }) =>
      `Run: grant all on all tables in schema public, drizzle to ${user}; grant all on all sequences in schema public, drizzle to ${user}`,
  ],
  [
    /^42501 must be owner of/,
    ({ user, database }) =>
      `Set the user that created the tables, or run: reassign owned by OTHER_USER to ${user} (in ${database})`,
  ],
  [/^42501/, 'Grant this right to the user, or set another user in DATABASE_URL'],
  [
    /^3F000/,
    ({ user }) =>
      `Run: grant usage, create on schema public to ${user}; alter role ${user} set search_path = public`,
  ],
  [
    /^(42P07|42710|42723)/,
    ({ user }) =>
      `Another program uses this database. Rename or drop what exists, or set an empty database: create database docket owner ${user} encoding 'UTF8' locale 'C' template template0`,
  ],
  [
    /parameter:? "?([\w.]+)"?/,
    ({ object }) => `Remove ${object} from DATABASE_URL, or correct its value`,
    'ends',
  ],
  [
    /^(42704|42883) .*(gin_trgm_ops|gin|similar|btree)/,
    `Create the extensions in a schema of the search_path: alter extension btree_gin set schema public; alter extension pg_trgm set schema public`,
  ],
  [
    /^25006/,
    ({ user, database }) =>
      `Name the primary in DATABASE_URL. If it is the primary, run: alter database ${database} reset default_transaction_read_only; alter role ${user} reset default_transaction_read_only`,
  ],
  [/^ONLY_READS|^NO_WRITER/, 'Name the primary in DATABASE_URL, or promote a standby', 'waits'],
  [/^TLS_UNSUPPORTED/, 'Turn on ssl in the server, or set sslmode=disable in DATABASE_URL', 'ends'],
  [/ALTNAME/, 'Set the host name of the certificate in DATABASE_URL, or sslmode=verify-ca', 'ends'],
  [
    /ALERT/,
    'The server rejects this client: set sslcert and sslkey in DATABASE_URL to files that the server accepts',
    'ends',
  ],
  [/EXPIRED|NOT_YET_VALID/, 'Renew the certificate of the server', 'ends'],
  [
    /CERT|SELF_SIGNED/,
    'Set sslrootcert in DATABASE_URL to the file of the authority that signed the certificate of the server',
    'ends',
  ],
  [/^ERR_(SSL|OSSL|TLS)/, 'Check the TLS settings of the server', 'ends'],
  [/^(SASL_|AUTH_TYPE)/, 'Use scram-sha-256, md5 or a certificate for this user in pg_hba.conf', 'ends'],
]

interface Explanation {
  /** What Postgres or the network reported. */
  reason: string
  advice: string
  isFromPostgres: boolean
  /** Whether a later attempt may succeed. */
  isTemporary: boolean
}

/** Returns undefined for a defect of this service: such an error has no code. */
export function explain(error: unknown, databaseUrl: string): Explanation | undefined {
  const cause = errorCode(error) ? error : ((error as { cause?: unknown }).cause ?? error)
  const code = errorCode(cause)
  if (!code) return undefined
  const { message, detail } = cause as postgres.PostgresError
  const isFromPostgres = cause instanceof postgres.PostgresError
  const text = `${code} ${message}`
  const [pattern, advice = '', effect] = rows.find(([one]) => one.test(text)) ?? []
  const object = pattern?.exec(text)?.[1] ?? ''
  return {
    reason: (message || code) + (isFromPostgres && detail ? ` (${detail})` : ''),
    advice: typeof advice === 'string' ? advice : advice({ ...namesIn(databaseUrl), object }),
    isFromPostgres,
    isTemporary: effect ? effect === 'waits' : !isFromPostgres || transientCodes.test(code),
  }
}

export function toConfigError(error: unknown, databaseUrl: string): unknown {
  const explanation = explain(error, databaseUrl)
  if (!explanation) return error
  const { reason, advice, isFromPostgres, isTemporary } = explanation
  const source = isFromPostgres
    ? 'Postgres reports'
    : isTemporary
      ? 'Postgres cannot be reached'
      : 'The connection fails'
  return new ConfigError(`DATABASE_URL cannot be used. ${source}: ${reason}. ${advice}`.trim())
}

/** Returns the names as SQL writes them. */
function namesIn(databaseUrl: string): Record<'user' | 'database', string> {
  const { username, pathname } = new URL(urlsIn(databaseUrl)[0]!)
  const [user, database] = [username, pathname.slice(1) || username].map(decodeURIComponent)
  return { user: quoted(user!), database: quoted(database!) }
}

const quoted = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`

/** Texts are stored in UTF-8, and SQL_ASCII would not check them. @throws ConfigError with the SQL that helps */
export async function requireUsable(sql: postgres.Sql): Promise<void> {
  const [server] = await sql<Record<'encoding' | 'name' | 'owner' | 'version', string>[]>`
    select current_setting('server_encoding') as encoding, current_setting('server_version') as version,
      current_database() as name, current_user as owner`
  const { encoding, name, owner, version } = server!
  if (Number.parseInt(version, 10) < minVersion)
    throw new ConfigError(
      `DATABASE_URL leads to Postgres ${version}. Set a server with Postgres ${minVersion} or later; 18 is tested`,
    )
  if (encoding !== 'UTF8')
    throw new ConfigError(
      `DATABASE_URL cannot be used. The database ${name} has the encoding ${encoding}, but must have UTF8. Run: create database ${quoted(`${name}_utf8`)} owner ${quoted(owner)} encoding 'UTF8' locale 'C' template template0. Then set this database in DATABASE_URL`,
    )
}
