import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import type { RedisClient } from '../../redis/connections.ts'

/** After Redis failed to answer, no request waits for it for so long. */
const redisPauseMs = 1_000
export const maxLocalKeys = 50_000

/** Runs `shared` with Redis, for all processes together; `own`, for this process alone, while Redis is away. */
export function openRedisFallback() {
  let restsUntil = -Infinity
  return async <T>(shared: () => Promise<T>, own: () => T): Promise<T> => {
    if (performance.now() < restsUntil) return own()
    try {
      return await shared()
    } catch {
      restsUntil = performance.now() + redisPauseMs
      return own()
    }
  }
}

/** How much of something in how much time (draft-ietf-httpapi-ratelimit-headers calls it a quota policy). */
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

/** Counts in Redis, for all processes together; in this process alone while Redis is away. */
export function openCounter(redis: RedisClient, prefix: string, { name, points, seconds }: Policy) {
  const options = { points, duration: seconds, keyPrefix: `${prefix}:limit:${name}` }
  const counts = new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true })
  const own = openLocalCounts(seconds * 1000)
  const ask = openRedisFallback()
  const countIn = (found: RateLimiterRes | null): Count => {
    const { consumedPoints = 0, msBeforeNext = 0 } = found ?? {}
    return { points: consumedPoints, msToEnd: msBeforeNext > 0 ? msBeforeNext : seconds * 1000 }
  }
  return {
    add: (key: string, points: number): Promise<Count> =>
      ask(
        () => counts.penalty(key, points).then(countIn),
        () => own(key, points),
      ),

    read: (key: string): Promise<Count> =>
      ask(
        () => counts.get(key).then(countIn),
        () => own(key, 0),
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

/** An email address as a key: no counter names it. */
export const hashedKey = (text: string): string => createHash('sha256').update(text).digest('base64url')
