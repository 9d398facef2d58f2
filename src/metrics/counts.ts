import { Distribution, type Labelled } from './family.ts'

export const newHits = () => ({ hits: 0, misses: 0 })
export type Hits = ReturnType<typeof newHits>

export const newCommitCounts = () => ({
  seconds: new Distribution(),
  waitSeconds: new Distribution(),
  events: new Distribution([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]),
  units: { won: 0, lost: 0, unknown: 0, refused: 0 },
})

export const newLeaseCounts = () => ({
  seconds: new Distribution(),
  waits: 0,
  handOvers: 0,
})

export const newForwardCounts = () => ({ forwarded: 0, lost: 0, served: 0 })

export const newQueryCounts = () => ({ open: 0, seconds: new Distribution() })

export type Counts = ReturnType<typeof openCounts>

export const openCounts = () => ({
  requests: new RequestDurations(),
  commits: newCommitCounts(),
  leases: newLeaseCounts(),
  forwards: newForwardCounts(),
  /** Of the imports that run in this process: rows of files, and failed imports. */
  imports: { rows: 0, failed: 0 },
  queries: {
    reads: newQueryCounts(),
    searches: newQueryCounts(),
    commits: newQueryCounts(),
    background: newQueryCounts(),
  },
  readWaits: { roles: new Distribution(), versions: new Distribution(), sessions: new Distribution() },
  caches: { bodies: newHits(), places: newHits(), roles: newHits(), sessions: newHits(), states: newHits() },
})

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** All labels have fixed values, so that clients cannot add series. */
export class RequestDurations {
  private readonly series = new Map<string, Labelled<Distribution>>()

  add(route: string, givenMethod: string, status: number, startedAt = performance.now()): void {
    const method = methods.has(givenMethod) ? givenMethod : 'other'
    const name = `${status} ${method} ${route}`
    let entry = this.series.get(name)
    if (!entry)
      this.series.set(name, (entry = [{ method, route, status: String(status) }, new Distribution()]))
    entry[1].addSince(startedAt)
  }

  all = (): Labelled<Distribution>[] => [...this.series.values()]
}
