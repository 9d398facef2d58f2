import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { hostOf, urlsIn } from '../hosts.ts'
import type { Log } from '../logger.ts'
import { tlsOf } from '../tls.ts'

/** A script must use keys of one hash slot, because the client may be a cluster. */
export type RedisClient = Redis | Cluster

/** Without Redis, commands fail fast and callers continue. */
const failFast: RedisOptions = { enableOfflineQueue: false, maxRetriesPerRequest: 0 }

/** A connection that is silent for this time, or for the longer time of a command, is replaced. */
const silenceMs = 1_000

const retryMs = (attempt: number) => Math.min(50 * attempt, 1_000)

const commonOptions: RedisOptions = {
  connectTimeout: 2_000,
  retryStrategy: retryMs,
  // If the master has become a replica, a new connection finds the new master.
  reconnectOnError: ({ message }) => message.startsWith('READONLY'),
}

export function openRedis(config: Pick<Config, 'redisUrl' | 'redisTimeoutMs'>, log: Log): RedisClient {
  const { redisUrl, redisTimeoutMs: commandTimeout } = config
  const socketTimeout = Math.max(silenceMs, commandTimeout)
  return logOutages(connect(redisUrl, { ...failFast, commandTimeout, socketTimeout }), log)
}

const pingEveryMs = 500

/** The caller must subscribe again at each `ready` event. */
export function openSubscriber(url: string, log: Log): Redis {
  const own = { enableOfflineQueue: false, autoResubscribe: false, socketTimeout: 2_000 }
  const options = { ...commonOptions, ...own }
  const redis = logOutages(isCluster(url) ? connectAnyNode(url, options) : connectServer(url, options), log)
  // ioredis closes a silent connection only while a reply is pending.
  const timer = setInterval(() => redis.ping().catch(() => {}), pingEveryMs)
  return redis.once('end', () => clearInterval(timer))
}

/** Longer than the 10 s for which BullMQ blocks. Without it, a worker would wait forever for a reply that was lost. */
const blockingTimeoutMs = 15_000

/**
 * For BullMQ workers, which repeat a command that failed. A command that times out does not close the connection, so
 * the socket has a timeout too: otherwise, a silent connection would fail all later commands.
 */
export const openBlocking = (url: string, log: Log, timeoutMs = blockingTimeoutMs) =>
  logOutages(
    connect(url, { maxRetriesPerRequest: null, commandTimeout: timeoutMs, socketTimeout: timeoutMs }),
    log,
  )

function connect(url: string, own: RedisOptions): RedisClient {
  if (!isCluster(url)) return connectServer(url, { ...commonOptions, ...own })
  const { enableOfflineQueue = true } = own
  return new Cluster(clusterNodesOf(url), {
    enableOfflineQueue,
    clusterRetryStrategy: retryMs,
    slotsRefreshInterval: 2_000,
    // Allows one retry on another node, because a slot may have moved.
    ...(!enableOfflineQueue && { maxRedirections: 2, retryDelayOnFailover: 50, retryDelayOnClusterDown: 50 }),
    redisOptions: { ...credentialsOf(url), ...commonOptions, ...own },
  })
}

function connectServer(url: string, options: RedisOptions): Redis {
  const sentinels = sentinelsOf(url)
  if (sentinels) return new Redis({ ...sentinels, ...options })
  return new Redis(url, { ...tlsOptionsOf(url), ...options })
}

/** Each node of a cluster receives all messages. After a lost connection, tries the next node. */
function connectAnyNode(url: string, options: RedisOptions): Redis {
  const nodes = clusterNodesOf(url)
  let index = Math.floor(Math.random() * nodes.length)
  const redis = new Redis({ ...nodes[index], ...credentialsOf(url), ...options })
  redis.on('close', () => Object.assign(redis.options, nodes[++index % nodes.length]))
  return redis
}

export function disconnect(redis: RedisClient): void {
  redis.removeAllListeners('error').on('error', () => {})
  redis.disconnect()
}

function logOutages<R extends RedisClient>(redis: R, log: Log): R {
  let isDown = false
  redis.on('error', ({ message: reason }: Error) => {
    if (!isDown) log.warn({ reason, advice }, 'Redis is unavailable; continuing without it')
    isDown = true
  })
  redis.on('ready', () => {
    if (isDown) log.info('Redis is available again')
    isDown = false
  })
  return redis
}

const sentinelPort = 26_379
const redisPort = 6_379

export const isCluster = (url: string): boolean => /^rediss?\+cluster:/.test(url)

export const hashTag = (name: string): string => `{${name}}`

const clusterNodesOf = (url: string) => urlsIn(url).map((server) => hostOf(server, redisPort))

function sentinelsOf(url: string): RedisOptions | undefined {
  if (!/^rediss?\+sentinel:/.test(url)) return undefined
  const name = decodeURIComponent(new URL(urlsIn(url)[0]!).pathname.slice(1))
  const { tls } = tlsOptionsOf(url)
  const sentinels = urlsIn(url).map((server) => hostOf(server, sentinelPort))
  const sentinelTls = tls && { sentinelTLS: tls, enableTLSForSentinelMode: true }
  return { ...credentialsOf(url), ...sentinelTls, sentinels, name }
}

function credentialsOf(url: string): RedisOptions {
  const { username, password } = new URL(urlsIn(url)[0]!)
  return {
    ...tlsOptionsOf(url),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  }
}

const tlsOptionsOf = (url: string): Pick<RedisOptions, 'tls'> =>
  url.startsWith('rediss') ? { tls: tlsOf(url, 'verify-full').options } : {}

const advice =
  'If this does not end: start Redis, or correct the host, the port, the user, the password or the database in REDIS_URL. ' +
  'Set rediss:// only for a server with TLS (with sslmode, sslrootcert, sslcert and sslkey), redis+sentinel:// only ' +
  'for sentinels, redis+cluster:// only for a cluster'

/** Right after the start, replies may be late. */
const checkAfterMs = 1_000

/** After each new connection, logs what the server must allow or change: otherwise commands fail, or data is lost. */
export function warnOfServerSettings(
  redis: RedisClient,
  redisUrl: string,
  prefixes: string[],
  log: Log,
): void {
  const user = decodeURIComponent(/:\/\/([^:@/]+)[^/]*@/.exec(redisUrl)?.[1] ?? 'default')
  const warn = (reason: string, advice: string) =>
    log.warn({ reason, advice }, 'Redis is not set up for Docket')
  redis.on('ready', async () => {
    await sleep(checkAfterMs, undefined, { ref: false })
    const info = await redis.info('memory').catch(() => '')
    const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1] ?? 'noeviction'
    if (policy !== 'noeviction')
      warn(
        `Redis may evict jobs and leases, because its maxmemory-policy is ${policy}`,
        'Run: CONFIG SET maxmemory-policy noeviction. Also change redis.conf',
      )
    const probes: [right: string, probe: Promise<unknown>][] = [
      [`&${prefixes[0]}*`, redis.publish(`${prefixes[0]}:probe`, '')],
      ['+@all', redis.eval('return 1', 0)],
    ]
    for (const prefix of prefixes) probes.push([`~${prefix}*`, redis.set(`${prefix}:probe`, '', 'PX', 1)])
    const problems = await Promise.all(probes.map(([, probe]) => probe.then(() => '', String)))
    const rights = probes.flatMap(([right], n) => (problems[n]!.includes('NOPERM') ? right : []))
    const denied = problems.find((problem) => problem.includes('NOPERM'))
    if (denied) warn(denied, `Run: ACL SETUSER ${user} ${rights.join(' ')}. Also change the ACL file`)
  })
}
