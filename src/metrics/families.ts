import type { Counts } from './counts.ts'
import type { Distribution } from './distribution.ts'
import { labelledBy, counter, type Family, gauge, histogram, type Labelled } from './family.ts'

/** What a process has counted, as metrics of Prometheus. */
export function countFamilies(counts: Counts): Family[] {
  const took = counts.requests.all()
  const answered = took.map(([labels, { total }]): Labelled<number> => [labels, total])
  return [
    counter('http_requests_total', 'Requests answered.', answered),
    histogram('http_request_duration_seconds', 'Time to an answer, of a stream to its beginning.', took),
    ...writeFamilies(counts),
    ...readFamilies(counts),
  ]
}

const writeFamilies = ({ commits, leases, forwards: orders }: Counts): Family[] => [
  histogram('commit_duration_seconds', 'Time of a group commit in Postgres.', commits.seconds),
  histogram('commit_wait_seconds', 'Time the oldest of a group commit waited for it.', commits.waitSeconds),
  histogram('commit_size_events', 'Events in a group commit.', commits.events),
  counter(
    'commit_units_total',
    'What actors wanted written; lost when a version had moved on.',
    labelledBy('outcome', commits.units),
  ),
  histogram('lease_wait_seconds', 'Time to get a lease that was not held.', leases.seconds),
  counter('lease_waits_total', 'Leases that another process had when they were asked for.', leases.waits),
  counter('lease_hand_overs_total', 'Leases that another process handed over.', leases.handOvers),
  counter('forwarded_commands_total', 'Commands sent to the home of their project.', orders.forwarded),
  counter('forwards_lost_total', 'Commands whose home was lost before it answered.', orders.lost),
  counter('served_commands_total', 'Commands done for other processes.', orders.served),
]

function readFamilies({ queries, readWaits, caches }: Counts): Family[] {
  const looks = Object.entries(caches).flatMap(([cache, { hits, misses }]): Labelled<number>[] => [
    [{ cache, result: 'hit' }, hits],
    [{ cache, result: 'miss' }, misses],
  ])
  const pools = labelledBy('pool', queries)
  const open = pools.map(([pool, { open }]): Labelled<number> => [pool, open])
  const took = pools.map(([pool, { seconds }]): Labelled<Distribution> => [pool, seconds])
  const waits = 'Time the oldest of a batch of look-ups waited for those before.'
  return [
    gauge('postgres_queries_open', 'Queries asked and not answered.', open),
    histogram('postgres_query_duration_seconds', 'Time of a query, with its wait for a connection.', took),
    histogram('read_wait_seconds', waits, labelledBy('batch', readWaits)),
    counter('cache_requests_total', 'Looks into a cache.', looks),
  ]
}
