import { batched } from '../postgres/batch.ts'
import type { Sql } from '../postgres/database.ts'
import { readRows } from '../postgres/delimited-rows.ts'

/** A project, and somebody who may see it or not. */
export interface Pair {
  projectId: string
  userId: string
}

/** Pairs looked at in one query, at most. */
export const mostPairs = 1_000

/** The version of each project for who may see it, both in the same moment; undefined for a stranger. */
export async function visibleVersions(sql: Sql, pairs: Pair[]): Promise<(number | undefined)[]> {
  const projects = pairs.map(({ projectId }) => projectId)
  const users = pairs.map(({ userId }) => userId)
  const [row] = await sql<{ seen: string | null }[]>`
    select string_agg(concat_ws(' ', q.n, s.version), ',') as seen
    from unnest(${projects}::uuid[], ${users}::uuid[]) with ordinality q(project_id, user_id, n)
    join projects p on p.id = q.project_id
    join streams s on s.project_id = q.project_id
    left join members m on m.project_id = q.project_id and m.user_id = q.user_id
    where p.owner_id = q.user_id or m.role is not null`
  return readRows(pairs.length, row?.seen ?? null, ([version]) => Number(version))
}

export type SeeMany = (asked: { userId: string; ids: string[] }) => Promise<(number | undefined)[]>

/** The same of one user and many projects, for many requests in one query. */
export const openSeeMany = (sql: Sql): SeeMany =>
  batched(
    { keys: 100, weigh: { limit: mostPairs, of: ({ ids }) => ids.length }, slots: 2 },
    async (asked) => {
      const pairs = asked.flatMap(({ userId, ids }) => ids.map((projectId) => ({ projectId, userId })))
      const seen = await visibleVersions(sql, pairs)
      let end = 0
      return asked.map(({ ids }) => seen.slice(end, (end += ids.length)))
    },
  )
