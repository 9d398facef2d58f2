const secondsBounds = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1],
  ...[0.25, 0.5, 1, 2.5, 5, 10, 30],
]

export class Distribution {
  readonly counts: Float64Array
  sum = 0

  constructor(readonly bounds: readonly number[] = secondsBounds) {
    this.counts = new Float64Array(bounds.length + 1)
  }

  get total(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  add(value: number): void {
    let at = 0
    while (value > this.bounds[at]!) at++
    this.counts[at]!++
    this.sum += value
  }

  addSince(startedAt: number): void {
    this.add((performance.now() - startedAt) / 1_000)
  }
}

export const newHits = () => ({ hits: 0, misses: 0 })
export type Hits = ReturnType<typeof newHits>

export const newCommitCounts = () => ({
  seconds: new Distribution(),
  waitSeconds: new Distribution(),
  events: new Distribution([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]),
  units: { won: 0, lost: 0, unknown: 0, refused: 0 },
})

export const newLeaseCounts = () => ({ seconds: new Distribution(), waits: 0, handOvers: 0 })

export const newForwardCounts = () => ({ forwarded: 0 })

export type Counts = ReturnType<typeof openCounts>

export const openCounts = () => ({
  requests: new RequestDurations(),
  commits: newCommitCounts(),
  leases: newLeaseCounts(),
  forwards: newForwardCounts(),
  queries: {
    reads: new Distribution(),
    searches: new Distribution(),
    commits: new Distribution(),
    background: new Distribution(),
  },
  /** The waits of reads of versions, which are a part of most requests. */
  readWaits: new Distribution(),
  caches: { bodies: newHits(), places: newHits(), roles: newHits(), sessions: newHits(), states: newHits() },
})

type Labels = Record<string, string>
export type WithLabels<T> = [Labels, T]

interface Value {
  labels: Record<string, string | number>
  value: number
  metricName?: string
}

/** The format of prom-client: plain data, which can be sent to another process. */
export interface Family {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  values: Value[]
  aggregator: 'sum'
}

const familyOf =
  <T>(type: Family['type'], valuesOf: (labels: Labels, value: T, name: string) => Value[]) =>
  (plainName: string, help: string, data: WithLabels<T>[] | T): Family => {
    const name = `docket_${plainName}`
    const all: WithLabels<T>[] = Array.isArray(data) ? data : [[{}, data]]
    const values = all.flatMap(([labels, value]) => valuesOf(labels, value, name))
    return { name, help, type, values, aggregator: 'sum' }
  }

export const counter = familyOf<number>('counter', (labels, value) => [{ labels, value }])
export const gauge = familyOf<number>('gauge', (labels, value) => [{ labels, value }])
export const histogram = familyOf<Distribution>('histogram', (labels, { bounds, counts, sum }, name) => {
  let upTo = 0
  const buckets = [...counts].map((count, n) => {
    upTo += count
    return { labels: { ...labels, le: bounds[n] ?? '+Inf' }, value: upTo, metricName: `${name}_bucket` }
  })
  const of = (suffix: string, value: number) => ({ labels, value, metricName: `${name}_${suffix}` })
  return [...buckets, of('sum', sum), of('count', upTo)]
})

export function lagFamilies(follower: string, events: number, seconds: number): Family[] {
  const labels = { follower }
  return [
    gauge('follower_lag_events', 'Events not yet sent to the slowest subscriber.', [[labels, events]]),
    gauge('follower_lag_seconds', 'Time since the slowest subscriber fell behind.', [[labels, seconds]]),
  ]
}

export const labelledBy = <T>(label: string, named: Record<string, T>): WithLabels<T>[] =>
  Object.entries(named).map(([name, value]) => [{ [label]: name }, value])

export const withProcessLabel = (process: string, families: Family[]): Family[] =>
  families.map((family) => ({
    ...family,
    values: family.values.map((value) => ({ ...value, labels: { ...value.labels, process } })),
  }))

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

export function countFamilies(counts: Counts): Family[] {
  const { requests, commits, leases, forwards, queries, readWaits, caches } = counts
  const took = requests.all()
  const lookups = Object.entries(caches).flatMap(([cache, { hits, misses }]): WithLabels<number>[] => [
    [{ cache, result: 'hit' }, hits],
    [{ cache, result: 'miss' }, misses],
  ])
  const waits = labelledBy('pool', { commits: commits.waitSeconds, reads: readWaits })
  return [
    counter(
      'http_requests_total',
      'Answered requests.',
      took.map(([labels, { total }]): WithLabels<number> => [labels, total]),
    ),
    histogram('http_request_duration_seconds', 'Time to the response, or to the start of a stream.', took),
    histogram('commit_duration_seconds', 'Time of a group commit in Postgres.', commits.seconds),
    histogram('commit_size_events', 'Events in a group commit.', commits.events),
    counter('commit_units_total', 'Commit units by outcome.', labelledBy('outcome', commits.units)),
    histogram('lease_wait_seconds', 'Time to acquire a lease.', leases.seconds),
    counter('lease_waits_total', 'Requested leases that another process held.', leases.waits),
    counter('lease_hand_overs_total', 'Leases that another process handed over.', leases.handOvers),
    counter('forwarded_commands_total', 'Commands forwarded to their home process.', forwards.forwarded),
    histogram(
      'postgres_query_duration_seconds',
      'Query time with the wait for a connection.',
      labelledBy('pool', queries),
    ),
    histogram('pool_wait_seconds', 'Wait of the oldest write or read of a group for earlier groups.', waits),
    counter('cache_requests_total', 'Cache lookups by result.', lookups),
  ]
}
