import type { Config } from '../config.ts'

/** Six processes with full pools, a worker and a successor have 88 connections. Postgres accepts 100 by default. */
const fullProcesses = 6

type Pools = Pick<Config, 'webConcurrency' | 'readConnections' | 'choreConnections' | 'commitSlots'>

/** The default pools of one of many web processes: more than six share the connections of six. */
export function sharedPools({ webConcurrency, readConnections, choreConnections, commitSlots }: Pools) {
  const share = (all: number) =>
    String(Math.max(1, Math.min(all, Math.floor((all * fullProcesses) / webConcurrency))))
  return {
    READ_CONNECTIONS: share(readConnections),
    CHORE_CONNECTIONS: share(choreConnections),
    COMMIT_SLOTS: share(commitSlots),
  }
}
