import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import type { RedisClient } from '../../redis/connections.ts'

/** How much of something in how much time (draft-ietf-httpapi-ratelimit-headers calls it a quota policy). */
export interface Policy {
  name: string
  points: number
  seconds: number
}

/** What was counted under a key in the window that runs now. */
export interface Count {
  points: number
  msToEnd: number
}

export type Counter = ReturnType<typeof openCounter>

/** After Redis failed to answer, it is left alone this long: who comes meanwhile does not wait for it too. */
const restMs = 1_000

/** Counts in Redis, for all processes together; in this process alone while Redis is away. */
export function openCounter(redis: RedisClient, prefix: string, { name, points, seconds }: Policy) {
  const options = { points, duration: seconds, keyPrefix: `${prefix}:limit:${name}` }
  const shared = new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true })
  const own = new RateLimiterMemory(options)
  let restsUntil = -Infinity

  async function ask<T>(of: (limiter: RateLimiterRedis | RateLimiterMemory) => Promise<T>): Promise<T> {
    if (performance.now() < restsUntil) return of(own)
    try {
      return await of(shared)
    } catch {
      restsUntil = performance.now() + restMs
      return of(own)
    }
  }

  return {
    /** Adds to a key's count, and gives it. */
    async add(key: string, points: number): Promise<Count> {
      const { consumedPoints, msBeforeNext } = await ask((limiter) => limiter.penalty(key, points))
      return { points: consumedPoints, msToEnd: msBeforeNext > 0 ? msBeforeNext : seconds * 1000 }
    },

    async read(key: string): Promise<Count> {
      const found = await ask((limiter) => limiter.get(key))
      return { points: found?.consumedPoints ?? 0, msToEnd: found?.msBeforeNext ?? seconds * 1000 }
    },
  }
}
