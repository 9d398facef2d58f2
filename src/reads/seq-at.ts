import type { Sql, SqlPart } from '../postgres/database.ts'

/** A project, and how much of its log is to be looked at. */
interface Log {
  projectId: string
  version: number
}

/** The seq of a project's last event at an instant or before it; one less than its oldest when there is none. */
export const seqAt = (sql: Sql, log: Log, instant: string) => lastSeq(sql, log, sql`<= ${instant}`)

/** The same, before the instant. */
export const seqBefore = (sql: Sql, log: Log, instant: string) => lastSeq(sql, log, sql`< ${instant}`)

/** Events in a row that are passed because their time is still to come. */
const mostPassed = 10_000

/**
 * Times of a project never go back, so it is found by halves: some twenty rows of a million. But for those of a clock that
 * was ahead: an event whose time is still to come stands where the next one does.
 */
async function lastSeq(sql: Sql, { projectId, version }: Log, isThen: SqlPart): Promise<number> {
  const [row] = await sql<{ seq: number }[]>`
    with recursive search(low, high) as (
      (select seq, ${version}::bigint + 1 from events where project_id = ${projectId} order by seq limit 1)
      union all
      select case when e.fits then e.seq + 1 else s.low end, case when e.fits then s.high else (s.low + s.high) / 2 end
      from search s left join lateral (select seq, fits from
          (select seq, at, at ${isThen}::text::timestamptz as fits from events
            where project_id = ${projectId} and seq >= (s.low + s.high) / 2 order by seq limit ${mostPassed}) n
        where at <= now() or fits order by seq limit 1) e on true
      where s.low < s.high)
    select low::float8 - 1 as seq from search where low >= high`
  return row?.seq ?? 0
}
