import { unencodedIn, urlsIn, withoutBrackets } from './hosts.ts'
import { basePath, trustProxy } from './proxies.ts'
import * as kind from './setting-values.ts'
import { check, ConfigError, integer, onOff, oneOf } from './setting-values.ts'
import { tlsOf, tlsParameters } from './tls.ts'

/** The message does not contain the URL, because a URL may contain a password. */
const url =
  (protocols: string[], unencoded = '') =>
  (value: string): string => {
    const isKnown = protocols.some((protocol) => value.startsWith(`${protocol}//`))
    const wrong = isKnown ? unencodedIn(value).filter((one) => !unencoded.includes(one)) : []
    const advice = wrong.map((one) => `${one} as ${encodeURIComponent(one)}`).join(' and ')
    check(!advice, `must be a URL: in the user and the password, percent-encode ${advice}`)
    const starts = protocols.map((protocol) => `${protocol}//`).join(' or ')
    check(!value || isKnown, `must be a URL starting with ${starts}`)
    const hasHosts = !value || urlsIn(value).length > 0
    check(
      hasHosts,
      'must be a URL with a host, and with a port from 0 to 65535 or without one; an IPv6 address needs brackets',
    )
    return value
  }
const httpUrl = url(['http:', 'https:'])
/** The client for mail also accepts a user such as `ada@example.com`, and a `%` that begins no escape. */
const smtpUrl = url(['smtp:', 'smtps:'], '@%')

function databaseUrl(value: string): string {
  const [first] = urlsIn(url(['postgres:', 'postgresql:'])(value))
  if (!first) return value
  const { hostname, searchParams } = new URL(first)
  const isSocket = searchParams.has('host') || /^%2f/i.test(hostname)
  check(
    !isSocket,
    'must have a host before the name of the database, such as localhost: sockets of Unix are not supported',
  )
  tlsOf(value)
  return value
}

/** A comma separates URLs only if a URL follows. */
function standbyUrls(value: string): string[] {
  const all = value ? value.split(/,\s*(?=\w+:\/\/)/).map((one) => databaseUrl(one.trim())) : []
  check(all.length <= 8, 'must be at most 8 URLs with commas between')
  const haveOneHost = all.every((one) => urlsIn(one).length === 1)
  check(haveOneHost, 'must be URLs with one host each: postgres://…,postgres://…')
  return all
}

/** One server, a master that Sentinel knows by name, or a cluster. */
function redisUrl(value: string): string {
  const all = ['redis:', 'rediss:', ...manyHostProtocols]
  const [first, second] = urlsIn(url(all)(value))
  if (!first) return value
  const { protocol, pathname, searchParams } = new URL(first)
  const isNamed = pathname.length > 1
  const isNumbered = !second && /^\/?\d*$/.test(pathname)
  const isWhole = protocol.endsWith('+sentinel:')
    ? isNamed
    : manyHostProtocols.includes(protocol) || isNumbered
  check(
    isWhole,
    'must be a URL such as redis://host:6379/0, redis+sentinel://host:26379/NAME or redis+cluster://host:6379',
  )
  const { mode } = tlsOf(value, 'verify-full')
  const isSecure = protocol.startsWith('rediss')
  const parameter = tlsParameters.find((one) => searchParams.has(one))
  check(isSecure || !parameter, `must start with rediss:// instead of redis:// to use ${parameter}`)
  const isSure = mode === 'require' || mode.startsWith('verify')
  check(isSure, `must have an sslmode of require, verify-ca or verify-full with rediss, not "${mode}"`)
  return value
}

const manyHostProtocols = ['redis+sentinel:', 'redis+cluster:', 'rediss+sentinel:', 'rediss+cluster:']

/** `named` is for a pooler that supports named prepared statements, `on` for any other pooler. */
const poolers = ['off', 'on', 'named']
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** The settings of operators: name, default and reader. docs/configuration.md and .env.example list exactly these. */
const documented = {
  production: ['NODE_ENV', '', (value: string) => value === 'production'],
  host: ['HOST', '0.0.0.0', withoutBrackets],
  port: ['PORT', 3000, integer(0, 65535)],
  webConcurrency: ['WEB_CONCURRENCY', 1, kind.concurrency(64)],
  dataDir: ['DATA_DIR', '.data', kind.text],
  logLevel: ['LOG_LEVEL', 'info', oneOf(logLevels)],
  logRequests: ['LOG_REQUESTS', 'off', onOff],
  metricsPort: ['METRICS_PORT', 0, integer(0, 65535)],
  metricsHost: ['METRICS_HOST', '127.0.0.1', withoutBrackets],
  otlpEndpoint: ['OTEL_EXPORTER_OTLP_ENDPOINT', '', httpUrl],
  drainDelayMs: ['DRAIN_DELAY_MS', 0, integer(0, 600_000)],
  drainTimeoutMs: ['DRAIN_TIMEOUT_MS', 10_000, integer(100, 600_000)],
  databaseUrl: ['DATABASE_URL', '', databaseUrl],
  databaseStandbyUrls: ['DATABASE_STANDBY_URLS', '', standbyUrls],
  databasePooler: ['DATABASE_POOLER', 'off', oneOf(poolers)],
  redisUrl: ['REDIS_URL', '', redisUrl],
  redisPrefix: ['REDIS_PREFIX', 'docket', kind.text],
  jwtSecret: ['JWT_SECRET', '', kind.secrets],
  jwtExpirationSeconds: ['JWT_EXPIRATION', '7d', kind.duration],
  registration: ['REGISTRATION', 'open', kind.registration],
  passwordMinCharacters: ['PASSWORD_MIN_CHARACTERS', 6, integer(6, 128)],
  passwordRejectCommon: ['PASSWORD_REJECT_COMMON', 'off', onOff],
  signInFailures: ['SIGN_IN_FAILURES', 20, integer(1, 1_000_000)],
  invitationsPerHour: ['INVITATIONS_PER_HOUR', 60, integer(1, 1_000_000)],
  smtpUrl: ['SMTP_URL', '', smtpUrl],
  mailFrom: ['MAIL_FROM', 'Docket <docket@localhost>', kind.mailbox],
  publicUrl: ['PUBLIC_URL', '', httpUrl],
  rateLimit: ['RATE_LIMIT', 'on', onOff],
  readsPerMinute: ['READS_PER_MINUTE', 6_000_000, integer(1, 1_000_000_000)],
  writesPerMinute: ['WRITES_PER_MINUTE', 3_000_000, integer(1, 1_000_000_000)],
  trustProxy: ['TRUST_PROXY', 'off', trustProxy],
  basePath: ['BASE_PATH', '', basePath],
  board: ['BOARD', 'on', onOff],
  corsOrigins: ['CORS_ORIGINS', '', kind.origins],
  bodyBytes: ['BODY_BYTES', 1_048_576, integer(1_024, 16_777_216)],
  importBytes: ['IMPORT_BYTES', 67_108_864, integer(1_024, 1_073_741_824)],
  idempotencyHours: ['IDEMPOTENCY_HOURS', 24, integer(1, 8_760)],
  commitProjects: ['COMMIT_PROJECTS', 512, integer(1, 512)],
  historyDays: ['HISTORY_DAYS', 0, integer(0, 36_500)],
  writeShards: ['WRITE_SHARDS', 1, integer(0, 64)],
  homeHost: ['HOME_HOST', '127.0.0.1', withoutBrackets],
  homePort: ['HOME_PORT', 0, integer(0, 65535)],
  webhookAllowHttp: ['WEBHOOK_ALLOW_HTTP', 'off', onOff],
  webhookAllowPrivate: ['WEBHOOK_ALLOW_PRIVATE', 'off', onOff],
} as const

/**
 * Constants for operators, because the best value depends on the code and not on the installation. Tests shorten the
 * times and lower the limits through the environment.
 */
const undocumented = {
  // A supervisor sets REUSE_PORT for its children and, if it starts many web processes, also the sizes of their pools.
  // With the default sizes, six web processes fit into the 100 connections of Postgres. One of the read connections
  // serves expensive reads.
  reusePort: ['REUSE_PORT', 'off', onOff],
  readConnections: ['READ_CONNECTIONS', 4, integer(1, 100)],
  backgroundConnections: ['BACKGROUND_CONNECTIONS', 4, integer(1, 100)],
  commitSlots: ['COMMIT_SLOTS', 3, integer(1, 32)],
  // A statement normally takes milliseconds. After these times, the server does not respond or a lock blocks the
  // statement.
  redisTimeoutMs: ['REDIS_TIMEOUT_MS', 300, integer(10, 60_000)],
  readTimeoutMs: ['READ_TIMEOUT_MS', 10_000, integer(100, 600_000)],
  backgroundTimeoutMs: ['BACKGROUND_TIMEOUT_MS', 5_000, integer(100, 600_000)],
  commitTimeoutMs: ['COMMIT_TIMEOUT_MS', 4_000, integer(100, 600_000)],
  lockTimeoutMs: ['LOCK_TIMEOUT_MS', 50, integer(10, 600_000)],
  // Clients usually wait for 30 s.
  writeTimeoutMs: ['WRITE_TIMEOUT_MS', 15_000, integer(100, 600_000)],
  bodyTimeoutMs: ['BODY_TIMEOUT_MS', 15_000, integer(10, 600_000)],
  // Beyond this size, a group commit does not become faster.
  commitEvents: ['COMMIT_EVENTS', 512, integer(1, 10_000)],
  // A home commits this many commands in about two seconds. The queue of one project is shorter than the queue of all
  // projects together.
  mailboxCommands: ['MAILBOX_COMMANDS', 2_000, integer(1, 100_000)],
  waitingCommands: ['WAITING_COMMANDS', 10_000, integer(1, 1_000_000)],
  // A web process needs 512 MiB with these caches.
  actors: ['ACTORS', 10_000, integer(1, 1_000_000)],
  actorCacheBytes: ['ACTOR_CACHE_BYTES', 67_108_864, integer(0, 17_179_869_184)],
  actorIdleMs: ['ACTOR_IDLE_MS', 60_000, integer(100, 86_400_000)],
  bodyCacheBytes: ['BODY_CACHE_BYTES', 67_108_864, integer(0, 17_179_869_184)],
  // A lease outlives a short pause of its process. A slice is long enough for several group commits.
  leaseTtlMs: ['LEASE_TTL_MS', 2_000, integer(100, 60_000)],
  leaseSliceMs: ['LEASE_SLICE_MS', 15, integer(0, 10_000)],
  leaseLingerMs: ['LEASE_LINGER_MS', 5_000, integer(0, 600_000)],
  // A slow core computes 2,700 password hashes a minute.
  signInsPerMinute: ['SIGN_INS_PER_MINUTE', 2_400, integer(1, 1_000_000_000)],
  // Enough for all mails that one person needs, and too few to annoy the owner of an address.
  mailsPerHour: ['MAILS_PER_HOUR', 10, integer(1, 1_000_000)],
  // Each open stream needs memory. One account cannot open all streams of a process.
  subscribers: ['SUBSCRIBERS', 20_000, integer(1, 1_000_000)],
  subscribersPerAccount: ['SUBSCRIBERS_PER_ACCOUNT', 10_000, integer(1, 1_000_000)],
  // Bounds of the work that one request causes.
  asOfEvents: ['AS_OF_EVENTS', 10_000, integer(1, 1_000_000)],
  projectMembers: ['PROJECT_MEMBERS', 1_000, integer(1, 10_000)],
  projectWebhooks: ['PROJECT_WEBHOOKS', 100, integer(1, 1_000)],
  webhookConcurrency: ['WEBHOOK_CONCURRENCY', 100, integer(1, 10_000)],
  // Jobs run in small steps with pauses, so that requests come first in Postgres. For more concurrent jobs, start more
  // workers.
  jobConcurrency: ['JOB_CONCURRENCY', 4, integer(1, 100)],
  jobBatchRows: ['JOB_BATCH_ROWS', 500, integer(1, 10_000)],
  jobPauseMs: ['JOB_PAUSE_MS', 5, integer(0, 10_000)],
  jobSliceMs: ['JOB_SLICE_MS', 1_000, integer(10, 600_000)],
  jobAttempts: ['JOB_ATTEMPTS', 8, integer(1, 20)],
  sweepEveryMs: ['SWEEP_EVERY_MS', 2_000, integer(50, 600_000)],
} as const

const settings = { ...documented, ...undocumented }

type Env = Record<string, string | undefined>
export type Config = { [K in keyof typeof settings]: ReturnType<(typeof settings)[K][2]> }

export function readConfig(env: Env): Config {
  const problems: string[] = []
  const entries = Object.entries(settings).map(([key, [name, fallback, read]]) => {
    try {
      return [key, read(env[name]?.trim() || String(fallback))]
    } catch (error) {
      problems.push(`${name} ${(error as ConfigError).message}`)
      return []
    }
  })
  if (problems.length > 0) throw new ConfigError(problems.join('; '))
  return Object.fromEntries(entries) as Config
}

const namesOf = (all: typeof settings | typeof documented) => Object.values(all).map(([name]) => name)
export const settingNames = (): string[] => namesOf(settings)
export const documentedSettings = (): string[] => namesOf(documented)

export function requireProductionSettings({ production, databaseUrl, jwtSecret, redisUrl }: Config): void {
  if (!production || !databaseUrl) return
  const missing = [
    ...(jwtSecret ? [] : ['JWT_SECRET must be set when NODE_ENV is production: at least 32 bytes']),
    ...(redisUrl ? [] : ['REDIS_URL must be set when NODE_ENV is production: redis://…']),
  ].map((one) => `${one}, the same for all processes`)
  if (missing.length > 0) throw new ConfigError(missing.join('; '))
}
