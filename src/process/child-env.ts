import { type Config, withNewNames } from '../config.ts'
import type { Env, Role } from './child.ts'

export function childEnvs(config: Config, given: Env): Record<Role, Env> {
  const { databaseUrl: DATABASE_URL, redisUrl: REDIS_URL, jwtSecret: JWT_SECRET } = config
  const common = { WEB_CONCURRENCY: '1', REUSE_PORT: 'on', HOME_PORT: '0' }
  const worker = { ...withNewNames(given), DATABASE_URL, REDIS_URL, JWT_SECRET, ...common }
  return { web: { ...sharedPools(config), ...worker }, worker }
}

/** With six web processes, at most 88 connections exist, even during a restart. Postgres allows 100 by default. */
const fullProcesses = 6

type Pools = Pick<Config, 'webConcurrency' | 'readConnections' | 'backgroundConnections' | 'commitSlots'>

/** Returns the default pool sizes of a web process. Beyond six processes, the total of connections no longer grows. */
export function sharedPools({ webConcurrency, readConnections, backgroundConnections, commitSlots }: Pools) {
  const share = (all: number) =>
    String(Math.max(1, Math.min(all, Math.floor((all * fullProcesses) / webConcurrency))))
  return {
    READ_CONNECTIONS: share(readConnections),
    BACKGROUND_CONNECTIONS: share(backgroundConnections),
    COMMIT_SLOTS: share(commitSlots),
  }
}
