import type { Caller } from '../../src/identity/rights.ts'
import { unprepared } from '../../src/postgres/timeouts.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { ofToken, visibleProjects } from '../../src/reads/visible.ts'

/** Returns the ids of all projects that the caller may see. */
export async function visibleProjectIds(sql: Sql, { userId, token }: Caller): Promise<string[]> {
  const within = ofToken(sql, token?.projects)
  const query = sql<{ id: string }[]>`select id from ${visibleProjects(sql, sql`${userId}`, within)} p`
  const rows = await (token?.projects ? unprepared(query) : query)
  return rows.map(({ id }) => id)
}

/** The cost of a search: one read, and one more for each 100 projects. */
const projectsPerRead = 100
export const costOf = (projectIds: string[]): number => 1 + projectIds.length / projectsPerRead
