import { counter, Distribution, type Family, histogram, type WithLabels, labelledBy } from './family.ts'

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

export type Counts = ReturnType<typeof openCounts>

export const openCounts = () => ({
  requests: new RequestDurations(),
  commits: newCommitCounts(),
  leases: newLeaseCounts(),
  forwards: newForwardCounts(),
  /** Of the imports that run in this process: rows of files, and failed imports. */
  imports: { rows: 0, failed: 0 },
  queries: {
    reads: new Distribution(),
    searches: new Distribution(),
    commits: new Distribution(),
    background: new Distribution(),
  },
  readWaits: { roles: new Distribution(), versions: new Distribution(), sessions: new Distribution() },
  caches: { bodies: newHits(), places: newHits(), roles: newHits(), sessions: newHits(), states: newHits() },
})

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** All labels have fixed values, so that clients cannot add series. */
export class RequestDurations {
  private readonly series = new Map<string, WithLabels<Distribution>>()

  add(route: string, givenMethod: string, status: number, startedAt = performance.now()): void {
    const method = methods.has(givenMethod) ? givenMethod : 'other'
    const name = `${status} ${method} ${route}`
    let entry = this.series.get(name)
    if (!entry)
      this.series.set(name, (entry = [{ method, route, status: String(status) }, new Distribution()]))
    entry[1].addSince(startedAt)
  }

  all = (): WithLabels<Distribution>[] => [...this.series.values()]
}

export function countFamilies({
  requests,
  commits,
  leases,
  forwards,
  queries,
  readWaits,
  caches,
}: Counts): Family[] {
  const took = requests.all()
  const lookups = Object.entries(caches).flatMap(([cache, { hits, misses }]): WithLabels<number>[] => [
    [{ cache, result: 'hit' }, hits],
    [{ cache, result: 'miss' }, misses],
  ])
  const waits = 'Wait of the oldest look-up of a batch for earlier batches.'
  return [
    counter(
      'http_requests_total',
      'Answered requests.',
      took.map(([labels, { total }]): WithLabels<number> => [labels, total]),
    ),
    histogram('http_request_duration_seconds', 'Time to the response, or to the start of a stream.', took),
    histogram('commit_duration_seconds', 'Time of a group commit in Postgres.', commits.seconds),
    histogram('commit_wait_seconds', 'Longest wait of a unit for its group commit.', commits.waitSeconds),
    histogram('commit_size_events', 'Events in a group commit.', commits.events),
    counter('commit_units_total', 'Commit units by outcome.', labelledBy('outcome', commits.units)),
    histogram('lease_wait_seconds', 'Time to acquire a lease.', leases.seconds),
    counter('lease_waits_total', 'Requested leases that another process held.', leases.waits),
    counter('lease_hand_overs_total', 'Leases that another process handed over.', leases.handOvers),
    counter('forwarded_commands_total', 'Commands forwarded to their home process.', forwards.forwarded),
    counter('forwards_lost_total', 'Forwarded commands without a reply: the home was lost.', forwards.lost),
    counter('served_commands_total', 'Commands executed for other processes.', forwards.served),
    histogram(
      'postgres_query_duration_seconds',
      'Query time with the wait for a connection.',
      labelledBy('pool', queries),
    ),
    histogram('read_wait_seconds', waits, labelledBy('batch', readWaits)),
    counter('cache_requests_total', 'Cache lookups by result.', lookups),
  ]
}
