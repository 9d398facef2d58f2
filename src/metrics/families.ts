import type { Counts } from './counts.ts'
import type { Distribution } from './distribution.ts'
import { labelledBy, counter, type Family, gauge, histogram, type Labelled } from './family.ts'

/** The counts of a process as Prometheus metrics. */
export function countFamilies(counts: Counts): Family[] {
  const took = counts.requests.all()
  const answered = took.map(([labels, { total }]): Labelled<number> => [labels, total])
  return [
    counter('http_requests_total', 'Answered requests.', answered),
    histogram(
      'http_request_duration_seconds',
      'Time to the response; for a stream, time to its first byte.',
      took,
    ),
    ...writeFamilies(counts),
    ...readFamilies(counts),
  ]
}

const writeFamilies = ({ commits, leases, forwards: orders }: Counts): Family[] => [
  histogram('commit_duration_seconds', 'Time of a group commit in Postgres.', commits.seconds),
  histogram(
    'commit_wait_seconds',
    'Wait of the oldest unit of a group commit before the commit began.',
    commits.waitSeconds,
  ),
  histogram('commit_size_events', 'Events in a group commit.', commits.events),
  counter(
    'commit_units_total',
    'Commit units by outcome; lost means a version conflict.',
    labelledBy('outcome', commits.units),
  ),
  histogram(
    'lease_wait_seconds',
    'Time to acquire a lease, including the wait for another holder.',
    leases.seconds,
  ),
  counter(
    'lease_waits_total',
    'Leases that another process held when this process requested them.',
    leases.waits,
  ),
  counter('lease_hand_overs_total', 'Leases that another process handed over.', leases.handOvers),
  counter(
    'forwarded_commands_total',
    'Commands forwarded to the home process of their project.',
    orders.forwarded,
  ),
  counter(
    'forwards_lost_total',
    'Forwarded commands whose home process disconnected before it answered.',
    orders.lost,
  ),
  counter('served_commands_total', 'Commands executed for other processes.', orders.served),
]

function readFamilies({ queries, readWaits, caches }: Counts): Family[] {
  const lookups = Object.entries(caches).flatMap(([cache, { hits, misses }]): Labelled<number>[] => [
    [{ cache, result: 'hit' }, hits],
    [{ cache, result: 'miss' }, misses],
  ])
  const pools = labelledBy('pool', queries)
  const open = pools.map(([pool, { open }]): Labelled<number> => [pool, open])
  const took = pools.map(([pool, { seconds }]): Labelled<Distribution> => [pool, seconds])
  const waits = 'Wait of the oldest look-up of a batch for earlier batches.'
  return [
    gauge('postgres_queries_open', 'Queries that wait for a connection or an answer.', open),
    histogram(
      'postgres_query_duration_seconds',
      'Time of a query, including the wait for a connection.',
      took,
    ),
    histogram('read_wait_seconds', waits, labelledBy('batch', readWaits)),
    counter('cache_requests_total', 'Cache lookups by result.', lookups),
  ]
}
