import { type Family, gauge } from '../../src/metrics/family.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { ChangedProjects } from './start.ts'

const maxCounted = 10_000

const help = {
  behind: 'Projects with changes that this worker has not indexed for the search yet.',
  lag: 'Time since the oldest change that this worker has not indexed for the search yet.',
  filling: `Projects whose first fill of the search index is not complete, counted up to ${maxCounted}.`,
  unfilled: 'Tasks that these projects have still to fill.',
}

export async function searchFamilies(sql: Sql, changed: ChangedProjects): Promise<Family[]> {
  const [row] = await sql<{ projects: number; tasks: number }[]>`
    select count(*)::int4 as projects,
      coalesce(sum(s.last_number - coalesce((c.fill ->> 'number')::int4, 0)), 0)::float8 as tasks
    from (select project_id, fill from search_cursors where fill is not null limit ${maxCounted}) c
    join streams s on s.project_id = c.project_id`
  const now = performance.now()
  return [
    gauge('search_projects_behind', help.behind, changed.size),
    gauge('search_lag_seconds', help.lag, (now - (changed.values().next().value ?? now)) / 1_000),
    gauge('search_filling_projects', help.filling, row!.projects),
    gauge('search_unfilled_tasks', help.unfilled, row!.tasks),
  ]
}

/** Reads the cursors of all projects: for an operator, not for requests. */
export async function indexState(sql: Sql) {
  const [row] = await sql<{ percent: number; filling: number; behind: number; documents: number }[]>`
    select coalesce(floor(100 * sum(case when c.project_id is not null and c.fill is null then s.last_number
        else coalesce((c.fill ->> 'number')::int4, 0) end) / nullif(sum(s.last_number), 0)), 100)::int4 as percent,
      (count(*) filter (where c.project_id is null or c.fill is not null))::int4 as filling,
      (count(*) filter (where (c.seq = s.version and c.event_id = s.last_event_id) is not true))::int4 as behind,
      (select greatest(reltuples, 0)::float8 from pg_class where oid = 'search_documents'::regclass) as documents
    from streams s join projects r on r.id = s.project_id left join search_cursors c on c.project_id = s.project_id`
  return row!
}
