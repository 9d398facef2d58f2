import type { Sql } from '../postgres/database.ts'
import type { Versioned } from './versions.ts'

/** At most this many events in a row are skipped because their time is in the future. */
const maxSkipped = 10_000

/**
 * Returns the seq of the last event up to `version` whose time is at or before the instant (`<=`), or before it (`<`).
 * If there is no such event, returns one less than the oldest seq. A project's times never decrease, so a binary search
 * reads about twenty rows of a million. If a clock was ahead, an event's time may be in the future. Such an event
 * counts like the next event whose time has passed.
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
            where project_id = ${projectId} and seq >= (s.low + s.high) / 2 order by seq limit ${maxSkipped}) n
        where at <= now() or fits order by seq limit 1) e on true
      where s.low < s.high)
    select low::float8 - 1 as seq from search where low >= high`
  return row?.seq ?? 0
}
