import { grouped, readRows } from '../postgres/grouped.ts'
import type { Sql } from '../postgres/database.ts'
import { eventsExpired } from '../responses/errors.ts'
import type { Versioned } from './versions.ts'

/** Returns the seq of a project's oldest event. Events expire in order, without a gap; the newest never expires. */
export type OldestSeq = (projectId: string) => Promise<number | undefined>

export const openOldestSeq = (sql: Sql): OldestSeq =>
  grouped({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const [row] = await sql<{ oldest: string | null }[]>`
      select string_agg(concat_ws(' ', q.n, e.seq), ',') as oldest
      from unnest(${ids}::uuid[]) with ordinality q(project_id, n)
      cross join lateral (
        select seq from events where project_id = q.project_id order by seq limit 1) e`
    return readRows(ids.length, row?.oldest ?? null, ([seq]) => Number(seq))
  })

/** Call this after reading the events, not before. @throws HttpError 410 if an event after seq `after` has expired */
export async function requireRetained(
  oldestSeq: OldestSeq,
  projectId: string,
  after: number,
  label = '',
): Promise<void> {
  const oldest = await oldestSeq(projectId)
  if (oldest !== undefined && oldest > after + 1) throw eventsExpired(oldest, label)
}

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
