import { importJobNames } from '../src/jobs/queue.ts'
import { gauge, lagFamilies } from '../src/metrics/counts.ts'
import type { Sql } from '../src/postgres/database.ts'
import type { CollectFamilies } from '../src/process/metrics-server.ts'
import type { Services } from '../src/services.ts'
import type { ChangedProjects } from './followers.ts'

const maxCounted = 10_000

/** The failure of a query leaves out only the metrics of its part. */
export function workerFamilies({ database }: Services, changed: ChangedProjects): CollectFamilies[] {
  const { background: sql } = database
  return [() => jobFamilies(sql), () => webhookFamilies(sql), () => searchFamilies(sql, changed)]
}

async function jobFamilies(sql: Sql) {
  const [row] = await sql<{ age: number; waiting: number; parked: number }[]>`
    select coalesce((select extract(epoch from now() - created_at)::float8 from outbox
        where parked_at is null and name <> all(${importJobNames}::text[]) order by created_at, id limit 1), 0) as age,
      (select count(*)::int4 from (select from outbox where parked_at is null limit ${maxCounted}) o) as waiting,
      (select count(*)::int4 from (select from outbox where parked_at is not null limit ${maxCounted}) o) as parked`
  const { age, waiting, parked } = row!
  const help = 'Age of the oldest job in the outbox, without imports and dead letters.'
  return [
    gauge('outbox_age_seconds', help, age),
    gauge('outbox_jobs', `Jobs that wait or run, counted up to ${maxCounted}.`, waiting),
    gauge('parked_jobs', `Dead letters: jobs that failed too often, counted up to ${maxCounted}.`, parked),
  ]
}

async function webhookFamilies(sql: Sql) {
  const [row] = await sql<{ events: number; seconds: number }[]>`
    with counted as materialized (select project_id, cursor from webhooks
      where disabled_at is null and failures = 0 limit ${maxCounted}),
    behind as (select w.project_id, w.cursor, s.version - w.cursor as events from counted w
      join streams s on s.project_id = w.project_id where s.version > w.cursor)
    select (select coalesce(max(events), 0)::float8 from behind) as events,
      (select coalesce(max(extract(epoch from now() - e.at)), 0)::float8 from behind b cross join lateral
        (select at from events where project_id = b.project_id and seq > b.cursor order by seq limit 1) e) as seconds`
  const { events, seconds } = row!
  return lagFamilies('webhook', events, Math.max(0, seconds))
}

async function searchFamilies(sql: Sql, changed: ChangedProjects) {
  const [row] = await sql<{ projects: number; tasks: number }[]>`
    select count(*)::int4 as projects,
      coalesce(sum(s.last_number - coalesce((c.fill ->> 'number')::int4, 0)), 0)::float8 as tasks
    from (select project_id, fill from search_cursors where fill is not null limit ${maxCounted}) c
    join streams s on s.project_id = c.project_id`
  const now = performance.now()
  const lag = (now - (changed.values().next().value ?? now)) / 1_000
  const filling = `Projects whose first fill of the search index is not complete, counted up to ${maxCounted}.`
  return [
    gauge(
      'search_lag_seconds',
      'Time since the oldest change that this worker has not indexed for the search yet.',
      lag,
    ),
    gauge('search_filling_projects', filling, row!.projects),
    gauge('search_unfilled_tasks', 'Tasks that these projects have still to fill.', row!.tasks),
  ]
}
