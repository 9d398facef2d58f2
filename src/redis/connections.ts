import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { Log } from '../log.ts'
import { clusterOf, isCluster, sentinelsOf, serverOf, waysInto } from './addresses.ts'

/** Only for commands that a cluster knows, and scripts whose keys are in one place. */
export type RedisClient = Redis | Cluster

/** A caller goes on without a Redis that is away. */
const failFast: RedisOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 300,
  socketTimeout: 1_000,
}

const retryMs = (attempt: number) => Math.min(50 * attempt, 1_000)

const common: RedisOptions = {
  connectTimeout: 2_000,
  retryStrategy: retryMs,
  // The master has become a replica: the next connection finds the new master.
  reconnectOnError: ({ message }) => message.startsWith('READONLY'),
}

/** For commands of a request. */
export const openRedis = (url: string, log: Log) => watch(connect(url, failFast), log)

/** For subscriptions, which their owner makes whenever the connection is ready. */
export function openSubscriber(url: string, log: Log): Redis {
  const options = { ...common, enableOfflineQueue: false, autoResubscribe: false, socketTimeout: 2_000 }
  return watch(isCluster(url) ? toAnyOf(url, options) : toOne(url, options), log)
}

/** For the workers of BullMQ, which wait for Redis forever. */
export const openBlocking = (url: string, log: Log) =>
  watch(connect(url, { maxRetriesPerRequest: null }), log)

function connect(url: string, own: RedisOptions): RedisClient {
  if (!isCluster(url)) return toOne(url, { ...common, ...own })
  return new Cluster(clusterOf(url), {
    enableOfflineQueue: own.enableOfflineQueue ?? true,
    clusterRetryStrategy: retryMs,
    slotsRefreshInterval: 2_000,
    // One more attempt where a slot may have moved.
    ...(own === failFast && { maxRedirections: 2, retryDelayOnFailover: 50, retryDelayOnClusterDown: 50 }),
    redisOptions: { ...waysInto(url), ...common, ...own },
  })
}

function toOne(url: string, options: RedisOptions): Redis {
  const sentinels = sentinelsOf(url)
  return sentinels ? new Redis({ ...sentinels, ...options }) : new Redis(serverOf(url), options)
}

/** All nodes of a cluster receive what is published at one. After a lost connection it tries the next node. */
function toAnyOf(url: string, options: RedisOptions): Redis {
  const nodes = clusterOf(url)
  let turn = Math.floor(Math.random() * nodes.length)
  const redis = new Redis({ ...nodes[turn], ...waysInto(url), ...options })
  redis.on('close', () => Object.assign(redis.options, nodes[++turn % nodes.length]))
  return redis
}

export function disconnect(redis: RedisClient): void {
  redis.removeAllListeners('error').on('error', () => {}) // a connection that is being made fails now
  redis.disconnect()
}

function watch<R extends RedisClient>(redis: R, log: Log): R {
  let away = false
  redis.on('error', (error: Error) => {
    if (!away) log.warn({ reason: error.message }, 'redis is away; going on without it')
    away = true
  })
  redis.on('ready', () => {
    if (away) log.info('redis is back')
    away = false
  })
  return redis
}
