import type { Counts, Hits } from './counts.ts'
import { counter, type Family, gauge, histogram } from './family.ts'

const each = <T, V>(
  named: Record<string, T>,
  label: string,
  of: (one: T) => V,
): [Record<string, string>, V][] => Object.entries(named).map(([name, one]) => [{ [label]: name }, of(one)])

/** What a process has counted, under the names by which Prometheus knows it. */
export const countedFamilies = (counts: Counts): Family[] => [
  ...ofRequests(counts),
  ...ofWrites(counts),
  ...ofReads(counts),
]

function ofRequests({ requests }: Counts): Family[] {
  const all = requests.all().map(({ method, route, status, seconds }) => {
    return { labels: { method, route, status: String(status) }, seconds }
  })
  const answered = all.map(({ labels, seconds }) => {
    return [labels, seconds.counts.reduce((sum, count) => sum + count, 0)] as [typeof labels, number]
  })
  const took = all.map(({ labels, seconds }) => [labels, seconds] as [typeof labels, typeof seconds])
  return [
    counter('http_requests_total', 'Requests answered.', answered),
    histogram('http_request_duration_seconds', 'Time to an answer, of a stream to its beginning.', took),
  ]
}

function ofWrites({ commits, leases, orders }: Counts): Family[] {
  const became = each(commits.units, 'outcome', (count) => count)
  return [
    histogram('commit_duration_seconds', 'Time of a group commit in Postgres.', commits.seconds),
    histogram('commit_wait_seconds', 'Time the oldest of a group commit waited for it.', commits.waitSeconds),
    histogram('commit_size_events', 'Events in a group commit.', commits.events),
    counter('commit_units_total', 'What actors wanted written; lost when a version had moved on.', became),
    histogram('lease_wait_seconds', 'Time to get a lease that was not held.', leases.seconds),
    counter('lease_waits_total', 'Leases that another process had when they were asked for.', leases.waits),
    counter('lease_hand_overs_total', 'Leases that another process handed over.', leases.handOvers),
    counter('forwarded_commands_total', 'Commands sent to the home of their project.', orders.forwarded),
    counter('forwards_lost_total', 'Commands whose home was lost before it answered.', orders.lost),
    counter('served_commands_total', 'Commands done for other processes.', orders.served),
  ]
}

function ofReads({ queries, readWaits, caches }: Counts): Family[] {
  const looks = Object.entries(caches).flatMap(([cache, { hits, misses }]: [string, Hits]) => [
    [{ cache, result: 'hit' }, hits] as [Record<string, string>, number],
    [{ cache, result: 'miss' }, misses] as [Record<string, string>, number],
  ])
  return [
    gauge(
      'postgres_queries_open',
      'Queries asked and not answered.',
      each(queries, 'pool', ({ open }) => open),
    ),
    histogram(
      'postgres_query_duration_seconds',
      'Time of a query, with its wait for a connection.',
      each(queries, 'pool', ({ seconds }) => seconds),
    ),
    histogram(
      'read_wait_seconds',
      'Time the oldest of a batch of look-ups waited for those before.',
      each(readWaits, 'batch', (seconds) => seconds),
    ),
    counter('cache_requests_total', 'Looks into a cache.', looks),
  ]
}
