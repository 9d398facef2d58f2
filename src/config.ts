import { ConfigError, type Settings, settingsIn } from './setting-values.ts'

/** `on`: one that knows no named statements; `named`: one that does. */
const poolers = ['off', 'on', 'named']
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

export type Config = ReturnType<typeof readConfig>

/**
 * Reads the whole configuration once. Numbers carry their unit in the name.
 * @throws ConfigError naming each variable that cannot be used.
 */
export function readConfig(env: Record<string, string | undefined>) {
  const settings = settingsIn(env)
  const config = {
    production: env.NODE_ENV === 'production',
    ...ofProcess(settings),
    ...ofCallers(settings),
    ...ofDatabase(settings),
    ...ofWrites(settings),
    ...ofJobs(settings),
    ...ofWebhooks(settings),
    ...ofMail(settings),
  }
  settings.requireUsable()
  return config
}

/** The names of all settings. */
export function settingNames(): string[] {
  const names = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void names.add(String(name)) }))
  return [...names]
}

const ofProcess = ({ isOn, oneOf, text, whole, ...special }: Settings) => ({
  host: text('HOST', '0.0.0.0'),
  port: whole('PORT', 3000, 0, 65535),
  databaseUrl: special.databaseUrl('DATABASE_URL'),
  redisUrl: special.redisUrl('REDIS_URL'),
  redisPrefix: text('REDIS_PREFIX', 'docket'),
  dataDir: text('DATA_DIR', '.data'),
  logLevel: oneOf('LOG_LEVEL', 'info', logLevels),
  jwtSecret: special.secrets('JWT_SECRET'),
  jwtExpirationSeconds: special.duration('JWT_EXPIRATION', '7d'),
  webConcurrency: special.concurrency('WEB_CONCURRENCY', 1, 64),
  reusePort: isOn('REUSE_PORT', 'off'),
  otlpEndpoint: special.url('OTEL_EXPORTER_OTLP_ENDPOINT', ['http:', 'https:']),
  metricsPort: whole('METRICS_PORT', 0, 0, 65535),
  metricsHost: text('METRICS_HOST', '127.0.0.1'),
  drainDelayMs: whole('DRAIN_DELAY_MS', 0, 0, 600_000),
  drainTimeoutMs: whole('DRAIN_TIMEOUT_MS', 10_000, 100, 600_000),
})

const ofCallers = ({ isOn, origins, registration, whole }: Settings) => ({
  registration: registration('REGISTRATION'),
  rateLimit: isOn('RATE_LIMIT', 'on'),
  readsPerMinute: whole('READS_PER_MINUTE', 6_000_000, 1, 1_000_000_000),
  writesPerMinute: whole('WRITES_PER_MINUTE', 3_000_000, 1, 1_000_000_000),
  signInsPerMinute: whole('SIGN_INS_PER_MINUTE', 2_400, 1, 1_000_000_000),
  signInFailures: whole('SIGN_IN_FAILURES', 20, 1, 1_000_000),
  signInFailureMinutes: whole('SIGN_IN_FAILURE_MINUTES', 15, 1, 1_440),
  invitationsPerHour: whole('INVITATIONS_PER_HOUR', 60, 1, 1_000_000),
  passwordMinCharacters: whole('PASSWORD_MIN_CHARACTERS', 6, 6, 128),
  passwordRejectCommon: isOn('PASSWORD_REJECT_COMMON', 'off'),
  corsOrigins: origins('CORS_ORIGINS'),
  logRequests: isOn('LOG_REQUESTS', 'off'),
  trustProxy: isOn('TRUST_PROXY', 'off'),
  bodyCacheBytes: whole('BODY_CACHE_BYTES', 67_108_864, 0, 17_179_869_184),
  bodyBytes: whole('BODY_BYTES', 1_048_576, 1_024, 16_777_216),
  bodyTimeoutMs: whole('BODY_TIMEOUT_MS', 15_000, 10, 600_000),
  followers: whole('FOLLOWERS', 20_000, 1, 1_000_000),
  followersPerCaller: whole('FOLLOWERS_PER_CALLER', 10_000, 1, 1_000_000),
  expensiveRequestsPerAccount: whole('EXPENSIVE_REQUESTS_PER_ACCOUNT', 4, 1, 1_000),
  asOfEvents: whole('AS_OF_EVENTS', 10_000, 1, 1_000_000),
  idempotencyHours: whole('IDEMPOTENCY_HOURS', 24, 1, 8_760),
})

const ofDatabase = ({ oneOf, whole }: Settings) => ({
  databasePooler: oneOf('DATABASE_POOLER', 'off', poolers),
  readConnections: whole('READ_CONNECTIONS', 4, 1, 100),
  readTimeoutMs: whole('READ_TIMEOUT_MS', 10_000, 100, 600_000),
  choreConnections: whole('CHORE_CONNECTIONS', 4, 1, 100),
  choreTimeoutMs: whole('CHORE_TIMEOUT_MS', 5_000, 100, 600_000),
})

const ofWrites = ({ text, whole }: Settings) => ({
  commitSlots: whole('COMMIT_SLOTS', 3, 1, 32),
  commitEvents: whole('COMMIT_EVENTS', 512, 1, 10_000),
  commitShapes: whole('COMMIT_SHAPES', 64, 0, 1_000),
  commitTimeoutMs: whole('COMMIT_TIMEOUT_MS', 4_000, 100, 600_000),
  lockTimeoutMs: whole('LOCK_TIMEOUT_MS', 2_000, 10, 600_000),
  writeTimeoutMs: whole('WRITE_TIMEOUT_MS', 15_000, 100, 600_000),
  mailboxCommands: whole('MAILBOX_COMMANDS', 2_000, 1, 100_000),
  waitingCommands: whole('WAITING_COMMANDS', 10_000, 1, 1_000_000),
  actors: whole('ACTORS', 10_000, 1, 1_000_000),
  actorCacheBytes: whole('ACTOR_CACHE_BYTES', 67_108_864, 0, 17_179_869_184),
  actorIdleMs: whole('ACTOR_IDLE_MS', 60_000, 100, 86_400_000),
  leaseTtlMs: whole('LEASE_TTL_MS', 2_000, 100, 60_000),
  leaseSliceMs: whole('LEASE_SLICE_MS', 15, 0, 10_000),
  leaseLingerMs: whole('LEASE_LINGER_MS', 5_000, 0, 600_000),
  writeHomes: whole('WRITE_HOMES', 1, 0, 64),
  homeHost: text('HOME_HOST', '127.0.0.1'),
  homePort: whole('HOME_PORT', 0, 0, 65535),
  projectMembers: whole('PROJECT_MEMBERS', 1_000, 1, 10_000),
})

const ofJobs = ({ whole }: Settings) => ({
  historyDays: whole('HISTORY_DAYS', 0, 0, 36_500),
  jobConcurrency: whole('JOB_CONCURRENCY', 4, 1, 100),
  jobBatchRows: whole('JOB_BATCH_ROWS', 500, 1, 10_000),
  jobPauseMs: whole('JOB_PAUSE_MS', 5, 0, 10_000),
  jobSliceMs: whole('JOB_SLICE_MS', 1_000, 10, 600_000),
  jobAttempts: whole('JOB_ATTEMPTS', 8, 1, 20),
  sweepEveryMs: whole('SWEEP_EVERY_MS', 2_000, 50, 600_000),
})

const ofWebhooks = ({ isOn, whole }: Settings) => ({
  webhookAllowHttp: isOn('WEBHOOK_ALLOW_HTTP', 'off'),
  webhookAllowPrivate: isOn('WEBHOOK_ALLOW_PRIVATE', 'off'),
  webhookConcurrency: whole('WEBHOOK_CONCURRENCY', 100, 1, 10_000),
  projectWebhooks: whole('PROJECT_WEBHOOKS', 100, 1, 1_000),
})

const ofMail = ({ mailbox, url, whole }: Settings) => ({
  smtpUrl: url('SMTP_URL', ['smtp:', 'smtps:']),
  mailFrom: mailbox('MAIL_FROM', 'Docket <docket@localhost>'),
  publicUrl: url('PUBLIC_URL', ['http:', 'https:']),
  mailsPerHour: whole('MAILS_PER_HOUR', 10, 1, 1_000_000),
})

/** @throws ConfigError when production leaves out what all its processes must share. */
export function requireForProduction({ production, databaseUrl, jwtSecret, redisUrl }: Config): void {
  if (!production || !databaseUrl) return
  const needed = (name: string, what: string) =>
    `${name} must be set when NODE_ENV is production: ${what}, the same everywhere`
  const missing = [
    ...(jwtSecret ? [] : [needed('JWT_SECRET', 'at least 32 bytes')]),
    ...(redisUrl ? [] : [needed('REDIS_URL', 'redis://…')]),
  ]
  if (missing.length > 0) throw new ConfigError(missing.join('; '))
}
