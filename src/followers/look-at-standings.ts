import { createHash } from 'node:crypto'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { moreMark, mostTold, type Standing } from './standing.ts'

/** Looks at all projects of so many people in one query; of those for whom nothing is new it gets no rows. */
export async function lookAtStandings(sql: Sql, standings: Standing[]): Promise<void> {
  const rows = await sql<{ n: number; list: string | null }[]>`
    select q.n::int4 as n, found.list
    from unnest(${standings.map(({ userId }) => userId)}::uuid[], ${standings.map(digestOf)}::text[])
      with ordinality q(user_id, digest, n)
    cross join lateral (
      select string_agg(concat_ws(' ', mine.id, mine.version), ',' order by mine.id) filter (where n <= ${mostTold})
        || case when count(*) > ${mostTold} then ${`,${moreMark}`} else '' end as list
      from (select one.*, row_number() over (order by id) as n
        from (${projectsOf(sql, sql`q.user_id`)}) one) mine) found
    where encode(sha256(coalesce(found.list, '')::bytea), 'hex') <> q.digest`
  for (const { n, list } of rows) {
    const all = list?.split(',') ?? []
    const hasMore = all.at(-1) === moreMark
    standings[n - 1]!.seeAll(read(hasMore ? all.slice(0, -1) : all), hasMore)
  }
}

/** The first of the projects that a user owns or is a member of, and one that tells of more. */
const projectsOf = (sql: Sql, user: SqlPart) => sql`
  (select p.id, s.version from projects p join streams s on s.project_id = p.id
    where p.owner_id = ${user} order by p.id, p.created_at limit ${mostTold + 1})
  union all
  (select p.id, s.version from members m join projects p on p.id = m.project_id
    join streams s on s.project_id = m.project_id
    where m.user_id = ${user} order by m.project_id, m.created_at limit ${mostTold + 1})
  order by id limit ${mostTold + 1}`

const read = (list: string[]): [string, number][] =>
  list.map((one) => [one.slice(0, 36), Number(one.slice(37))])

const digestOf = ({ list }: Standing): string => createHash('sha256').update(list).digest('hex')
