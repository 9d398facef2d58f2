import { Distribution } from './distribution.ts'
import { RequestDurations } from './requests.ts'

export const newCacheCounts = () => ({ hits: 0, misses: 0 })
export type CacheCounts = ReturnType<typeof newCacheCounts>

export function countLookup<T>(counts: CacheCounts, found: T): T {
  counts[found === undefined ? 'misses' : 'hits']++
  return found
}

export const newCommitCounts = () => ({
  seconds: new Distribution(),
  waitSeconds: new Distribution(),
  events: new Distribution([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]),
  /** Outcomes of what one actor wants committed. */
  units: { won: 0, lost: 0, unknown: 0, refused: 0 },
})

export const newLeaseCounts = () => ({
  /** Time to a lease that was not held, with the wait for its holder. */
  seconds: new Distribution(),
  /** Another process had it. */
  waits: 0,
  handOvers: 0,
})

export const newForwardCounts = () => ({ forwarded: 0, lost: 0, served: 0 })

/** Queries of one pool; their time begins before they have a connection. */
export const newQueryCounts = () => ({ open: 0, seconds: new Distribution() })

export type Counts = ReturnType<typeof openCounts>

/** What a process counts: plain numbers, always on. */
export const openCounts = () => ({
  requests: new RequestDurations(),
  commits: newCommitCounts(),
  leases: newLeaseCounts(),
  forwards: newForwardCounts(),
  queries: { reads: newQueryCounts(), commits: newQueryCounts(), background: newQueryCounts() },
  /** How long the oldest of a batch of reads waited for those before it. */
  readWaits: { roles: new Distribution(), versions: new Distribution(), sessions: new Distribution() },
  caches: { bodies: newCacheCounts(), places: newCacheCounts(), roles: newCacheCounts(), sessions: newCacheCounts(), states: newCacheCounts() },
})
