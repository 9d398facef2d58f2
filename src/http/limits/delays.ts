import { LRUCache } from 'lru-cache'
import type { RedisClient } from '../../redis/connections.ts'
import { maxLocalKeys, openRedisFallback } from './counter.ts'

/** Delay after each wrong password beyond the free ones; the last one applies to all that follow. */
export const delaysMs = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]

interface Bounds {
  /** Wrong passwords before the first delay. */
  free: number
  /** All attempts are forgotten so long after the last one. */
  windowMs: number
}

/** KEYS account · ARGV 1 to admit in any case, free, windowMs, delays → ms to wait; 0: admitted, counted as wrong for now. */
const beginScript = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('hmget', KEYS[1], 'wrong', 'until')
local waitMs = (tonumber(known[2]) or 0) - now
if waitMs > 0 and ARGV[1] ~= '1' then return waitMs end
local wrong = (tonumber(known[1]) or 0) + 1
local nth = math.min(wrong - ARGV[2], #ARGV - 3)
redis.call('hset', KEYS[1], 'wrong', wrong, 'until', nth > 0 and now + ARGV[3 + nth] or 0)
redis.call('pexpire', KEYS[1], ARGV[3])
return 0`

/** KEYS account: takes back what its last attempt counted, and ends the delay. */
const endScript = `
if redis.call('hincrby', KEYS[1], 'wrong', -1) <= 0 then return redis.call('del', KEYS[1]) end
return redis.call('hset', KEYS[1], 'until', 0)`

/**
 * Delays attempts at one account, the longer the more of them were wrong. An attempt counts as wrong from its beginning,
 * so attempts at the same time get no more checks than attempts one after another.
 */
export function openDelays(redis: RedisClient, prefix: string, { free, windowMs }: Bounds) {
  const own = openLocalDelays({ free, windowMs })
  const ask = openRedisFallback()
  const keyOf = (account: string) => `${prefix}:limit:wrong-passwords:${account}`
  const bounds = [free, windowMs, ...delaysMs].map(String)
  return {
    /** Returns the ms to wait before the next attempt; 0 admits this attempt. An exempt attempt is always admitted. */
    begin: (account: string, isExempt: boolean): Promise<number> =>
      ask(
        async () => Number(await redis.eval(beginScript, 1, keyOf(account), isExempt ? '1' : '0', ...bounds)),
        () => own.begin(account, isExempt),
      ),

    /** The attempt was not wrong: it no longer counts, and its delay is over. */
    end: (account: string): Promise<unknown> =>
      ask<unknown>(
        () => redis.eval(endScript, 1, keyOf(account)),
        () => own.end(account),
      ),
  }
}

/** The same in this process alone. */
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
