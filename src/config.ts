import { hasBareIpv6, unencodedIn, urlsIn } from './hosts.ts'
import { basePath, trustProxy } from './proxies.ts'
import * as kind from './setting-values.ts'
import { check, type Setting, setting, ConfigError } from './setting-values.ts'
import { tlsOf, tlsParameters } from './tls.ts'

/** The message does not contain the URL, because a URL may contain a password. */
const url = (name: string, protocols: string[], unencoded = ''): Setting<string> =>
  setting(name, '', (value) => {
    const isKnown = protocols.some((protocol) => value.startsWith(`${protocol}//`))
    const ending = isKnown ? unencodedIn(value).filter((one) => !unencoded.includes(one)) : []
    const advice = ending.map((one) => `${one} as ${encodeURIComponent(one)}`).join(' and ')
    check(!advice, `must be a URL: in the user and the password, percent-encode ${advice}`)
    check(!hasBareIpv6(value), 'must be a URL with brackets around an IPv6 address, for example [::1]')
    const starts = protocols.map((protocol) => `${protocol}//`).join(' or ')
    check(!value || isKnown, `must be a URL starting with ${starts}`)
    const hasHosts = !value || urlsIn(value).length > 0
    check(hasHosts, 'must be a URL with a host, and with a port from 0 to 65535 or without one')
    return value
  })

/** The client for mail also accepts a user such as `ada@example.com`, and a `%` that begins no escape. */
const smtpUrl = (name: string) => url(name, ['smtp:', 'smtps:'], '@%')

const databaseUrl = (name: string) =>
  setting(name, '', (value) => {
    const [first, second] = urlsIn(url(name, ['postgres:', 'postgresql:']).read(value))
    if (!first) return value
    const { hostname, searchParams } = new URL(first)
    const isSocket = searchParams.has('host') || /^%2f/i.test(hostname)
    check(
      !isSocket,
      'must have a host before the name of the database, such as localhost: sockets of Unix are not supported',
    )
    const session = searchParams.get('target_session_attrs')
    const canWrite = !session || ['read-write', 'primary'].includes(session) || (session === 'any' && !second)
    check(
      canWrite,
      'must lead to a server that accepts writes: set target_session_attrs=read-write, or leave it out',
    )
    tlsOf(value)
    return value
  })

/** A comma separates URLs only if a URL follows. */
const standbyUrls = (name: string) =>
  setting(name, '', (value) => {
    const all = value ? value.split(/,\s*(?=\w+:\/\/)/).map((one) => databaseUrl(name).read(one.trim())) : []
    check(all.length <= 8, 'must be at most 8 URLs with commas between')
    const haveOneHost = all.every((one) => urlsIn(one).length === 1)
    check(haveOneHost, 'must be URLs with one host each: postgres://…,postgres://…')
    return all
  })

const manyHostProtocols = ['redis+sentinel:', 'redis+cluster:', 'rediss+sentinel:', 'rediss+cluster:']

/** One server (by TCP or Unix socket), a master that Sentinel knows by name, or a cluster. */
const redisUrl = (name: string) =>
  setting(name, '', (value) => {
    const [first, second] = urlsIn(
      url(name, ['redis:', 'rediss:', 'unix:', ...manyHostProtocols]).read(value),
    )
    if (!first) return value
    const { protocol, pathname, searchParams } = new URL(first)
    const allowsManyHosts = !second || manyHostProtocols.includes(protocol)
    check(allowsManyHosts, 'must start with redis+sentinel:// or redis+cluster:// to name several hosts')
    const isNamed = !protocol.endsWith('+sentinel:') || pathname.length > 1
    check(isNamed, 'must end with the name of the master: redis+sentinel://host:26379/NAME')
    const isPath = protocol !== 'unix:' || value.startsWith('unix:///')
    check(isPath, 'must have the absolute path of a socket, such as unix:///run/redis.sock')
    const isNumbered = !/^rediss?:$/.test(protocol) || /^\/?\d*$/.test(pathname)
    check(isNumbered, 'must end with the number of a database or without one, such as redis://host:6379/0')
    const { mode } = tlsOf(value, 'verify-full')
    const isSecure = protocol.startsWith('rediss')
    const parameter = tlsParameters.find((one) => searchParams.has(one))
    check(isSecure || !parameter, `must start with rediss:// instead of redis:// to use ${parameter}`)
    const isSure = mode === 'require' || mode.startsWith('verify')
    check(isSure, `must have an sslmode of require, verify-ca or verify-full with rediss, not "${mode}"`)
    return value
  })

/** `named` is for a pooler that supports named prepared statements, `on` for any other pooler. */
const poolers = ['off', 'on', 'named']
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** The settings of operators. docs/configuration.md and .env.example list exactly these. */
const documented = {
  production: kind.setting('NODE_ENV', '', (value) => value === 'production'),
  host: kind.host('HOST', '0.0.0.0'),
  port: kind.integer('PORT', 3000, 0, 65535),
  webConcurrency: kind.concurrency('WEB_CONCURRENCY', 1, 64),
  dataDir: kind.text('DATA_DIR', '.data'),
  logLevel: kind.oneOf('LOG_LEVEL', 'info', logLevels),
  logRequests: kind.onOff('LOG_REQUESTS', 'off'),
  metricsPort: kind.integer('METRICS_PORT', 0, 0, 65535),
  metricsHost: kind.host('METRICS_HOST', '127.0.0.1'),
  otlpEndpoint: url('OTEL_EXPORTER_OTLP_ENDPOINT', ['http:', 'https:']),
  drainDelayMs: kind.integer('DRAIN_DELAY_MS', 0, 0, 600_000),
  drainTimeoutMs: kind.integer('DRAIN_TIMEOUT_MS', 10_000, 100, 600_000),
  databaseUrl: databaseUrl('DATABASE_URL'),
  databaseStandbyUrls: standbyUrls('DATABASE_STANDBY_URLS'),
  databasePooler: kind.oneOf('DATABASE_POOLER', 'off', poolers),
  redisUrl: redisUrl('REDIS_URL'),
  redisPrefix: kind.text('REDIS_PREFIX', 'docket'),
  jwtSecret: kind.secrets('JWT_SECRET'),
  jwtExpirationSeconds: kind.duration('JWT_EXPIRATION', '7d'),
  registration: kind.registration('REGISTRATION'),
  passwordMinCharacters: kind.integer('PASSWORD_MIN_CHARACTERS', 6, 6, 128),
  passwordRejectCommon: kind.onOff('PASSWORD_REJECT_COMMON', 'off'),
  signInFailures: kind.integer('SIGN_IN_FAILURES', 20, 1, 1_000_000),
  invitationsPerHour: kind.integer('INVITATIONS_PER_HOUR', 60, 1, 1_000_000),
  smtpUrl: smtpUrl('SMTP_URL'),
  mailFrom: kind.mailbox('MAIL_FROM', 'Docket <docket@localhost>'),
  publicUrl: url('PUBLIC_URL', ['http:', 'https:']),
  rateLimit: kind.onOff('RATE_LIMIT', 'on'),
  readsPerMinute: kind.integer('READS_PER_MINUTE', 6_000_000, 1, 1_000_000_000),
  writesPerMinute: kind.integer('WRITES_PER_MINUTE', 3_000_000, 1, 1_000_000_000),
  trustProxy: trustProxy('TRUST_PROXY'),
  basePath: basePath('BASE_PATH'),
  board: kind.onOff('BOARD', 'on'),
  corsOrigins: kind.origins('CORS_ORIGINS'),
  bodyBytes: kind.integer('BODY_BYTES', 1_048_576, 1_024, 16_777_216),
  importBytes: kind.integer('IMPORT_BYTES', 67_108_864, 1_024, 1_073_741_824),
  idempotencyHours: kind.integer('IDEMPOTENCY_HOURS', 24, 1, 8_760),
  commitProjects: kind.integer('COMMIT_PROJECTS', 512, 1, 512),
  historyDays: kind.integer('HISTORY_DAYS', 0, 0, 36_500),
  writeShards: kind.integer('WRITE_SHARDS', 1, 0, 64),
  homeHost: kind.host('HOME_HOST', '127.0.0.1'),
  homePort: kind.integer('HOME_PORT', 0, 0, 65535),
  webhookAllowHttp: kind.onOff('WEBHOOK_ALLOW_HTTP', 'off'),
  webhookAllowPrivate: kind.onOff('WEBHOOK_ALLOW_PRIVATE', 'off'),
}

/**
 * Constants for operators, because the best value depends on the code and not on the installation. Tests shorten the
 * times and lower the limits through the environment.
 */
const undocumented = {
  // A supervisor sets REUSE_PORT for its children and, if it starts many web processes, also the sizes of their pools.
  // With the default sizes, six web processes fit into the 100 connections of Postgres. One of the read connections
  // serves expensive reads.
  reusePort: kind.onOff('REUSE_PORT', 'off'),
  readConnections: kind.integer('READ_CONNECTIONS', 4, 1, 100),
  backgroundConnections: kind.integer('BACKGROUND_CONNECTIONS', 4, 1, 100),
  commitSlots: kind.integer('COMMIT_SLOTS', 3, 1, 32),
  // A statement normally takes milliseconds. After these times, the server does not respond or a lock blocks the
  // statement.
  redisTimeoutMs: kind.integer('REDIS_TIMEOUT_MS', 300, 10, 60_000),
  readTimeoutMs: kind.integer('READ_TIMEOUT_MS', 10_000, 100, 600_000),
  backgroundTimeoutMs: kind.integer('BACKGROUND_TIMEOUT_MS', 5_000, 100, 600_000),
  commitTimeoutMs: kind.integer('COMMIT_TIMEOUT_MS', 4_000, 100, 600_000),
  lockTimeoutMs: kind.integer('LOCK_TIMEOUT_MS', 50, 10, 600_000),
  // Clients usually wait for 30 s.
  writeTimeoutMs: kind.integer('WRITE_TIMEOUT_MS', 15_000, 100, 600_000),
  bodyTimeoutMs: kind.integer('BODY_TIMEOUT_MS', 15_000, 10, 600_000),
  // Beyond these sizes, a group commit does not become faster, and each prepared statement needs memory of Postgres.
  commitEvents: kind.integer('COMMIT_EVENTS', 512, 1, 10_000),
  commitShapes: kind.integer('COMMIT_SHAPES', 64, 0, 1_000),
  // A home commits this many commands in about two seconds. The queue of one project is shorter than the queue of all
  // projects together.
  mailboxCommands: kind.integer('MAILBOX_COMMANDS', 2_000, 1, 100_000),
  waitingCommands: kind.integer('WAITING_COMMANDS', 10_000, 1, 1_000_000),
  // A web process needs 512 MiB with these caches.
  actors: kind.integer('ACTORS', 10_000, 1, 1_000_000),
  actorCacheBytes: kind.integer('ACTOR_CACHE_BYTES', 67_108_864, 0, 17_179_869_184),
  actorIdleMs: kind.integer('ACTOR_IDLE_MS', 60_000, 100, 86_400_000),
  bodyCacheBytes: kind.integer('BODY_CACHE_BYTES', 67_108_864, 0, 17_179_869_184),
  // A lease outlives a short pause of its process. A slice is long enough for several group commits.
  leaseTtlMs: kind.integer('LEASE_TTL_MS', 2_000, 100, 60_000),
  leaseSliceMs: kind.integer('LEASE_SLICE_MS', 15, 0, 10_000),
  leaseLingerMs: kind.integer('LEASE_LINGER_MS', 5_000, 0, 600_000),
  // A slow core computes 2,700 password hashes a minute.
  signInsPerMinute: kind.integer('SIGN_INS_PER_MINUTE', 2_400, 1, 1_000_000_000),
  // Enough for all mails that one person needs, and too few to annoy the owner of an address.
  mailsPerHour: kind.integer('MAILS_PER_HOUR', 10, 1, 1_000_000),
  // Each open stream needs memory. One account cannot open all streams of a process.
  subscribers: kind.integer('SUBSCRIBERS', 20_000, 1, 1_000_000),
  subscribersPerAccount: kind.integer('SUBSCRIBERS_PER_ACCOUNT', 10_000, 1, 1_000_000),
  // Bounds of the work that one request causes.
  asOfEvents: kind.integer('AS_OF_EVENTS', 10_000, 1, 1_000_000),
  projectMembers: kind.integer('PROJECT_MEMBERS', 1_000, 1, 10_000),
  projectWebhooks: kind.integer('PROJECT_WEBHOOKS', 100, 1, 1_000),
  webhookConcurrency: kind.integer('WEBHOOK_CONCURRENCY', 100, 1, 10_000),
  // Jobs run in small steps with pauses, so that requests come first in Postgres. For more concurrent jobs, start more
  // workers.
  jobConcurrency: kind.integer('JOB_CONCURRENCY', 4, 1, 100),
  jobBatchRows: kind.integer('JOB_BATCH_ROWS', 500, 1, 10_000),
  jobPauseMs: kind.integer('JOB_PAUSE_MS', 5, 0, 10_000),
  jobSliceMs: kind.integer('JOB_SLICE_MS', 1_000, 10, 600_000),
  jobAttempts: kind.integer('JOB_ATTEMPTS', 8, 1, 20),
  sweepEveryMs: kind.integer('SWEEP_EVERY_MS', 2_000, 50, 600_000),
}

const settings = { ...documented, ...undocumented }

type Env = Record<string, string | undefined>
export type Config = { [K in keyof typeof settings]: ReturnType<(typeof settings)[K]['read']> }

export function readConfig(env: Env): Config {
  const problems: string[] = []
  const entries = Object.entries(settings).map(([key, { name, fallback, read }]) => {
    try {
      return [key, read(env[name]?.trim() || fallback)]
    } catch (error) {
      problems.push(`${name} ${(error as ConfigError).message}`)
      return []
    }
  })
  if (problems.length > 0) throw new ConfigError(problems.join('; '))
  return Object.fromEntries(entries) as Config
}

const namesOf = (all: Record<string, { name: string }>) => Object.values(all).map(({ name }) => name)
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
