import type { Sql } from '../../src/postgres/database.ts'

export const maxCounted = 10_000

/** Returns how many projects are being filled, and how many of their tasks are not filled yet. */
export async function fillState(sql: Sql): Promise<{ projects: number; tasks: number }> {
  const [row] = await sql<{ projects: number; tasks: number }[]>`
    select count(*)::int4 as projects,
      coalesce(sum(s.last_number - coalesce((p.fill ->> 'number')::int4, 0)), 0)::float8 as tasks
    from (select project_id, fill from search_positions where fill is not null limit ${maxCounted}) p
    join streams s on s.project_id = p.project_id`
  return row!
}

/** Reads the positions of all projects: for an operator, not for requests. */
export async function indexState(sql: Sql) {
  const [row] = await sql<{ percent: number; filling: number; behind: number; documents: number }[]>`
    select coalesce(floor(100 * sum(case when p.project_id is not null and p.fill is null then s.last_number
        else coalesce((p.fill ->> 'number')::int4, 0) end) / nullif(sum(s.last_number), 0)), 100)::int4 as percent,
      (count(*) filter (where p.project_id is null or p.fill is not null))::int4 as filling,
      (count(*) filter (where p.seq <> s.version or p.event_id <> s.last_event_id))::int4 as behind,
      (select greatest(reltuples, 0)::float8 from pg_class where oid = 'search'::regclass) as documents
    from streams s join projects r on r.id = s.project_id left join search_positions p on p.project_id = s.project_id`
  return row!
}
