import type { FillCursor } from '../../../drizzle/schema/search.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { nilId } from '../../../src/id-format.ts'

/** How far a project is indexed. */
export interface Position {
  projectId: string
  seq: number
  eventId: string
  fill: FillCursor | null
}

/** A project that is not completely indexed. Without a row in `search_positions`, `seq` and `fill` are null. */
export interface Behind {
  projectId: string
  version: number
  seq: number | null
  fill: FillCursor | null
}

export const firstRows: FillCursor = { task: nilId, id: nilId, number: 0 }

/** Returns the projects that have unindexed changes, or whose first fill is not complete. */
export const findBehind = (sql: Sql, projectIds: string[]): Promise<Behind[]> => sql<Behind[]>`
  select s.project_id, s.version::float8 as version, p.seq::float8 as seq, p.fill
  from streams s left join search_positions p on p.project_id = s.project_id
  where s.project_id = any(${projectIds}::uuid[])
    and ((p.seq = s.version and p.event_id = s.last_event_id and p.fill is null) is not true)`

/** Creates the positions of projects that have none. */
export async function startMissingFills(sql: Sql, behind: Behind[]): Promise<void> {
  const missing = behind.filter(({ seq }) => seq === null).map(({ projectId }) => projectId)
  if (missing.length > 0) await startFills(sql, missing)
}

/**
 * Creates positions at the current versions. The first fill reads the rows, and the log has all later changes. The lock
 * makes a deletion of the project wait, so that the purge finds the position.
 */
export const startFills = (sql: Sql, projectIds: string[]) => sql`
  insert into search_positions (project_id, seq, event_id, fill)
  select s.project_id, s.version, s.last_event_id, ${JSON.stringify(firstRows)}::text::jsonb
  from streams s join projects p on p.id = s.project_id
  where s.project_id = any(${projectIds}::uuid[]) order by s.project_id
  for key share of p
  on conflict do nothing`

/** A project may be deleted while its position is created. */
export const forgetDeleted = (sql: Sql, projectIds: string[]) => sql`
  delete from search_positions where project_id = any(${projectIds}::uuid[])
    and not exists (select from projects p where p.id = project_id)`

/** Returns the filled part of the tasks in percent, or `all` if no project is being filled. */
export async function filledPart(sql: Sql, projectIds: string[]): Promise<'all' | number> {
  const [row] = await sql<{ filling: number; percent: number }[]>`
    select count(p.fill)::int4 as filling,
      floor(100 * sum(case when p.fill is null then s.last_number else coalesce((p.fill ->> 'number')::int4, 0) end)
        / greatest(sum(s.last_number), 1))::int4 as percent
    from streams s join search_positions p on p.project_id = s.project_id
    where s.project_id = any(${projectIds}::uuid[])`
  return row!.filling === 0 ? 'all' : Math.min(row!.percent, maxPercent)
}

/** While a project is being filled, the part is not 100. */
const maxPercent = 99
