import { newId } from '../../src/ids.ts'
import type { Services } from '../../src/services.ts'

/** Longer than the interval between two renewals. */
const turnMs = 2_000

/**
 * With Redis, one worker at a time has the turn to index. Without Redis, every worker has the turn: this only costs
 * time, because a position is compared before the documents are written.
 */
export function openTurn({ redis, config }: Pick<Services, 'redis' | 'config'>) {
  const key = `${config.redisPrefix}:turn:search`
  const own = newId()
  let isOwn = false
  return {
    isOwn: () => isOwn,

    async renew(onBegin: () => void, onEnd: () => void): Promise<void> {
      const had = isOwn
      isOwn = redis.status !== 'ready' || (await take())
      if (isOwn && !had) onBegin()
      if (!isOwn && had) onEnd()
    },

    async release(): Promise<void> {
      if (isOwn && redis.status === 'ready' && (await redis.get(key)) === own) await redis.del(key)
      isOwn = false
    },
  }

  async function take(): Promise<boolean> {
    if (await redis.set(key, own, 'PX', turnMs, 'NX')) return true
    if ((await redis.get(key)) !== own) return false
    return (await redis.pexpire(key, turnMs)) === 1
  }
}
