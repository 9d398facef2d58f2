import type { Config } from '../config.ts'

/** Six processes with full pools, a worker and a successor are 88 connections: Postgres takes 100 unless told otherwise. */
const fullProcesses = 6

type Pools = Pick<Config, 'webConcurrency' | 'readConnections' | 'choreConnections' | 'commitSlots'>

/** The connections of one of many web processes by default: more than six of them share what six have. */
export function sharedPools({ webConcurrency, readConnections, choreConnections, commitSlots }: Pools) {
  const share = (all: number) =>
    String(Math.max(1, Math.min(all, Math.floor((all * fullProcesses) / webConcurrency))))
  return {
    READ_CONNECTIONS: share(readConnections),
    CHORE_CONNECTIONS: share(choreConnections),
    COMMIT_SLOTS: share(commitSlots),
  }
}
