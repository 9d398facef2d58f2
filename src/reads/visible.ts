import type { Sql, SqlPart } from '../postgres/database.ts'
import { unprepared } from '../postgres/timeouts.ts'
import type { Caller } from '../identity/rights.ts'

export interface Pair {
  id: string
  userId: string
}

/** SQL that limits projects `p` to the projects of an API token; empty without a limit. */
export const ofToken = (sql: Sql, projectIds?: string[] | null) =>
  projectIds ? sql`and p.id = any(${projectIds}::uuid[])` : sql``

/** SQL for the project with this id and the user's `role`, if the user owns the project or is a member. */
export const visibleProject = (sql: Sql, id: SqlPart, user: SqlPart) => sql`(
  select p.id, p.owner_id, p.event_id, case when p.owner_id = ${user} then 'OWNER' else m.role end as role
  from projects p left join members m on m.project_id = p.id and m.user_id = ${user}
  where p.id = ${id} and (p.owner_id = ${user} or m.id is not null))`

/** SQL for the ids of the projects that the user owns or is a member of. @param within SQL that limits projects `p` */
export const visibleProjects = (sql: Sql, user: SqlPart, within: SqlPart) => sql`(
  select id from projects p where owner_id = ${user} ${within}
  union all select p.id from members m join projects p on p.id = m.project_id where m.user_id = ${user} ${within})`

/** Returns the ids of all projects that the caller may see. */
export async function visibleProjectIds(sql: Sql, { userId, token }: Caller): Promise<string[]> {
  const within = ofToken(sql, token?.projects)
  const query = sql<{ id: string }[]>`select id from ${visibleProjects(sql, sql`${userId}`, within)} p`
  const rows = await (token?.projects ? unprepared(query) : query)
  return rows.map(({ id }) => id)
}

export const pairsOf = (sql: Sql, pairs: Pair[]) => sql`
  unnest(${pairs.map(({ id }) => id)}::uuid[], ${pairs.map(({ userId }) => userId)}::uuid[])
    with ordinality q(id, user_id, n)`
