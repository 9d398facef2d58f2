import type { Sql } from '../postgres/database.ts'
import type { Versioned } from './versions.ts'

/** Events in a row that are passed because their time is still to come. */
const mostPassed = 10_000

/**
 * Returns the seq of a project's last event up to a version and at an instant or before it, or only before it; one less than
 * its oldest seq when there is none. Times of a project never go back, so a binary search reads some twenty rows of a million.
 * An event of a clock that was ahead, whose time is still to come, counts like the next event.
 */
export async function seqAt(
  sql: Sql,
  { projectId, version }: Pick<Versioned, 'projectId' | 'version'>,
  instant: string,
  comparison: '<=' | '<' = '<=',
): Promise<number> {
  const [row] = await sql<{ seq: number }[]>`
    with recursive search(low, high) as (
      (select seq, ${version}::bigint + 1 from events where project_id = ${projectId} order by seq limit 1)
      union all
      select case when e.fits then e.seq + 1 else s.low end, case when e.fits then s.high else (s.low + s.high) / 2 end
      from search s left join lateral (select seq, fits from
          (select seq, at, at ${sql.unsafe(comparison)} ${instant}::text::timestamptz as fits from events
            where project_id = ${projectId} and seq >= (s.low + s.high) / 2 order by seq limit ${mostPassed}) n
        where at <= now() or fits order by seq limit 1) e on true
      where s.low < s.high)
    select low::float8 - 1 as seq from search where low >= high`
  return row?.seq ?? 0
}
