import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import type { RedisClient } from '../../redis/connections.ts'

/** After a Redis error, no request waits for Redis during this time. */
const redisPauseMs = 1_000
export const maxLocalKeys = 50_000

/** Returns a function that runs `shared`, which uses Redis, or `local` while Redis is unreachable. */
export function openRedisFallback() {
  let pausedUntil = -Infinity
  return async <T>(shared: () => Promise<T>, local: () => T): Promise<T> => {
    if (performance.now() < pausedUntil) return local()
    try {
      return await shared()
    } catch {
      pausedUntil = performance.now() + redisPauseMs
      return local()
    }
  }
}

/** A quota policy (draft-ietf-httpapi-ratelimit-headers): at most `points` within `seconds`. */
export interface Policy {
  name: string
  points: number
  seconds: number
}

export interface Count {
  points: number
  msToEnd: number
}

export type Counter = ReturnType<typeof openCounter>
export type OpenCounter = (policy: Policy) => Counter

/** Opens a counter in Redis that all processes share. While Redis is unreachable, each process counts on its own. */
export function openCounter(redis: RedisClient, prefix: string, { name, points, seconds }: Policy) {
  const options = { points, duration: seconds, keyPrefix: `${prefix}:limit:${name}` }
  const counts = new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true })
  const local = openLocalCounts(seconds * 1000)
  const withFallback = openRedisFallback()
  const countIn = (result: RateLimiterRes | null): Count => {
    const { consumedPoints = 0, msBeforeNext = 0 } = result ?? {}
    return { points: consumedPoints, msToEnd: msBeforeNext > 0 ? msBeforeNext : seconds * 1000 }
  }
  return {
    add: (key: string, points: number): Promise<Count> =>
      withFallback(
        () => counts.penalty(key, points).then(countIn),
        () => local(key, points),
      ),

    read: (key: string): Promise<Count> =>
      withFallback(
        () => counts.get(key).then(countIn),
        () => local(key, 0),
      ),
  }
}

function openLocalCounts(windowMs: number) {
  const counts = new LRUCache<string, { points: number }>({ max: maxLocalKeys, ttl: windowMs })
  return (key: string, points: number): Count => {
    const count = counts.get(key) ?? { points: 0 }
    if (points > 0 && count.points === 0) counts.set(key, count)
    count.points += points
    return { points: count.points, msToEnd: counts.getRemainingTTL(key) || windowMs }
  }
}

export const hashedKey = (text: string): string => createHash('sha256').update(text).digest('base64url')
