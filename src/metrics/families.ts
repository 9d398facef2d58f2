import type { Counts } from './counts.ts'
import {
  type Distribution,
  labelledBy,
  counter,
  type Family,
  gauge,
  histogram,
  type Labelled,
} from './family.ts'

export function countFamilies(counts: Counts): Family[] {
  const took = counts.requests.all()
  const answered = took.map(([labels, { total }]): Labelled<number> => [labels, total])
  return [
    counter('http_requests_total', 'Answered requests.', answered),
    histogram('http_request_duration_seconds', 'Time to the response, or to the start of a stream.', took),
    ...writeFamilies(counts),
    ...readFamilies(counts),
  ]
}

const writeFamilies = ({ commits, leases, forwards }: Counts): Family[] => [
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
    histogram('postgres_query_duration_seconds', 'Query time with the wait for a connection.', took),
    histogram('read_wait_seconds', waits, labelledBy('batch', readWaits)),
    counter('cache_requests_total', 'Cache lookups by result.', lookups),
  ]
}
