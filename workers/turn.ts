import { newId } from '../src/ids.ts'
import type { Services } from '../src/services.ts'

const turnMs = 2_000

/**
 * With Redis, one worker at a time has the turn. Without Redis, or if a worker loses its turn, several workers process the
 * same changes: this only costs time.
 */
export function openTurn({ redis, config }: Pick<Services, 'redis' | 'config'>, name: string, ms = turnMs) {
  const [key, own] = [`${config.redisPrefix}:turn:${name}`, newId()]
  return async (): Promise<boolean> => {
    if (redis.status !== 'ready' || (await redis.set(key, own, 'PX', ms, 'NX'))) return true
    return (await redis.get(key)) === own && (await redis.pexpire(key, ms)) === 1
  }
}
