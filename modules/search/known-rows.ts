import { unprepared } from '../../src/postgres/timeouts.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { canonicalId, isId } from '../../src/id-format.ts'
import { type FoundDocument, maxHits, type Wanted } from './documents.ts'
import { kinds } from './indexing/rows.ts'

/** Returns the rows whose id or external id is `text`. They come before all other hits. */
export async function findKnownRows(
  sql: Sql,
  { kinds: wantedKinds, projectIds }: Pick<Wanted, 'kinds' | 'projectIds'>,
  text: string,
): Promise<FoundDocument[]> {
  const id = canonicalId(text)
  const columns = (kind: number) => sql`t.project_id, ${kind}::int as kind`
  const byId = isId(id)
    ? sql`select t.id, t.created_at as at, ${columns(kinds.task)} from tasks t where t.id = ${id} union all
        select c.id, c.created_at, ${columns(kinds.comment)}
          from comments c join tasks t on t.id = c.task_id where c.id = ${id} union all
        select p.id, p.created_at, p.id, ${kinds.project}::int from projects p where p.id = ${id} union all`
    : sql``
  // Without the offset, Postgres could read all tasks of a project to find the task of a comment.
  return unprepared(sql<FoundDocument[]>`
    select id, kind, at, 0 as rank from (${byId}
      select t.id, t.created_at as at, ${columns(kinds.task)}
      from tasks t where t.project_id = any(${projectIds}::uuid[]) and t.external_id = ${text} offset 0) r
    where kind = any(${wantedKinds}::bigint[]) and project_id = any(${projectIds}::uuid[])
    order by at desc, id desc limit ${maxHits}`)
}
