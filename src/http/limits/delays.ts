import { LRUCache } from 'lru-cache'
import type { RedisClient } from '../../redis/connections.ts'
import { maxLocalKeys, openRedisFallback } from './counter.ts'

/** The delays after successive wrong passwords beyond the free ones. The last delay repeats. */
export const delaysMs = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]

interface Bounds {
  /** Wrong passwords before the first delay. */
  free: number
  /** The count of wrong passwords is deleted this long after the last attempt. */
  windowMs: number
}

/**
 * KEYS: the account. ARGV: '1' if the address is exempt, then `free`, `windowMs` and the delays. Returns the ms to
 * wait. If the attempt may begin, counts the attempt as wrong and returns 0.
 */
const beginScript = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('hmget', KEYS[1], 'wrong', 'until')
local waitMs = (tonumber(stored[2]) or 0) - now
if waitMs > 0 and ARGV[1] ~= '1' then return waitMs end
local wrong = (tonumber(stored[1]) or 0) + 1
local nth = math.min(wrong - ARGV[2], #ARGV - 3)
redis.call('hset', KEYS[1], 'wrong', wrong, 'until', nth > 0 and now + ARGV[3 + nth] or 0)
redis.call('pexpire', KEYS[1], ARGV[3])
return 0`

/** KEYS: the account. Subtracts one wrong password from the count, and removes the delay. */
const endScript = `
if redis.call('hincrby', KEYS[1], 'wrong', -1) <= 0 then return redis.call('del', KEYS[1]) end
return redis.call('hset', KEYS[1], 'until', 0)`

/** An attempt counts as wrong when it begins, so an attacker cannot check more passwords by concurrent attempts. */
export function openDelays(redis: RedisClient, prefix: string, { free, windowMs }: Bounds) {
  const local = openLocalDelays({ free, windowMs })
  const withFallback = openRedisFallback()
  const keyOf = (account: string) => `${prefix}:limit:wrong-passwords:${account}`
  const bounds = [free, windowMs, ...delaysMs].map(String)
  return {
    /** Returns 0 if the attempt may begin, else the ms to wait. An exempt attempt may always begin. */
    begin: (account: string, isExempt: boolean): Promise<number> =>
      withFallback(
        async () => Number(await redis.eval(beginScript, 1, keyOf(account), isExempt ? '1' : '0', ...bounds)),
        () => local.begin(account, isExempt),
      ),

    /** Call this if the password was not wrong: the attempt then no longer counts, and its delay is removed. */
    end: (account: string): Promise<unknown> =>
      withFallback<unknown>(
        () => redis.eval(endScript, 1, keyOf(account)),
        () => local.end(account),
      ),
  }
}

function openLocalDelays({ free, windowMs }: Bounds) {
  const accounts = new LRUCache<string, { wrong: number; until: number }>({
    max: maxLocalKeys,
    ttl: windowMs,
  })
  return {
    begin(account: string, isExempt: boolean): number {
      const now = performance.now()
      const { wrong, until } = accounts.get(account) ?? { wrong: 0, until: 0 }
      if (until > now && !isExempt) return until - now
      const delayMs = delaysMs[Math.min(wrong - free, delaysMs.length - 1)] ?? 0
      accounts.set(account, { wrong: wrong + 1, until: now + delayMs })
      return 0
    },

    end(account: string): void {
      const { wrong } = accounts.get(account) ?? { wrong: 0 }
      if (wrong > 1) accounts.set(account, { wrong: wrong - 1, until: 0 })
      else accounts.delete(account)
    },
  }
}
