import { Redis, type RedisOptions } from 'ioredis'
import type { Log } from '../log.ts'

/** Fails fast: a caller that finds Redis away must go on without it, not queue up behind it. */
const failFast: RedisOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 300,
  socketTimeout: 1_000,
}

const common: RedisOptions = {
  connectTimeout: 2_000,
  retryStrategy: (attempt) => Math.min(50 * attempt, 1_000),
}

/** For commands on the way to an answer. */
export const openRedis = (url: string, log: Log) => watch(new Redis(url, { ...common, ...failFast }), log)

/** For subscriptions, which their owner makes whenever it is ready. */
export const openSubscriber = (url: string, log: Log) =>
  watch(
    new Redis(url, { ...common, enableOfflineQueue: false, autoResubscribe: false, socketTimeout: 2_000 }),
    log,
  )

/** For BullMQ's workers, which block and wait for Redis as long as it takes. */
export const openBlocking = (url: string, log: Log) =>
  watch(new Redis(url, { ...common, maxRetriesPerRequest: null }), log)

function watch(redis: Redis, log: Log): Redis {
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
