import type { Sql } from '../src/postgres/database.ts'
import { nilId } from '../src/id-format.ts'
import { type Throttle, forEachPage } from './throttle.ts'

const searchRows = 5_000

/**
 * Searches the next page of projects, and returns the last project id, or undefined after the last page. The newest
 * event of a project remains, because the version of the project comes from this event. An event with a time in the
 * future, from a clock that was ahead, is as old as the next event with a past time.
 */
export async function expireEvents(
  sql: Sql,
  days: number,
  throttle: Throttle,
  after = nilId,
): Promise<string | undefined> {
  const { expired, last } = await findExpired(sql, days, after)
  for (const projectId of expired) {
    await forEachPage(throttle, 0, (removed) =>
      removeOldest(sql, projectId, days, removed, throttle.batchRows),
    )
  }
  return last
}

async function findExpired(sql: Sql, days: number, after: string) {
  const [page] = await sql<{ rows: number; last: string | null; expired: string | null }[]>`
    with page as materialized (
      select project_id, version from streams where project_id > ${after} order by project_id limit ${searchRows})
    select count(*)::int4 as rows, (select project_id from page order by project_id desc limit 1) as last,
      (select string_agg(project_id::text, ' ') from page p
        where (select ${isOld(sql, days)} and e.seq < p.version
          from events e where e.project_id = p.project_id and not ${isAhead(sql)} order by e.seq limit 1)) as expired
    from page`
  return {
    expired: page?.expired?.split(' ') ?? [],
    last: page!.rows === searchRows ? page!.last! : undefined,
  }
}

const isOld = (sql: Sql, days: number) => sql`e.at < now() - ${days}::int4 * interval '1 day'`

const isAhead = (sql: Sql) => sql`e.at > now()`

/**
 * Deletes at most `rows` events, up to the first that must remain. Returns the last deleted seq, to continue.
 * @param removed the last deleted seq, so that the statement does not read the dead rows of deleted events
 */
async function removeOldest(sql: Sql, projectId: string, days: number, removed: number, rows: number) {
  const [row] = await sql<{ last: number | null }[]>`
    with next as materialized (
      select e.seq, s.version, ${isOld(sql, days)} as is_old, ${isAhead(sql)} as is_ahead from events e, streams s
      where e.project_id = ${projectId} and e.seq > ${removed}::bigint and s.project_id = ${projectId}
      order by e.seq limit ${rows}),
    page as (
      select count(*) as rows, max(seq) as last, min(seq) filter (where not is_old and not is_ahead) as stays from next),
    removal as (
      select rows, last, case when stays is null and (select ${isOld(sql, days)} from events e
          where e.project_id = ${projectId} and e.seq >= last and not ${isAhead(sql)} order by e.seq limit 1) then last
        else (select max(seq) from next where is_old and (seq < stays) is not false) end as up_to
      from page),
    deleted as (delete from events where project_id = ${projectId} and seq > ${removed}::bigint
      and seq <= (select up_to from removal) and seq < (select max(version) from next))
    select last::float8 as last from removal where rows = ${rows} and up_to = last`
  return row?.last ?? undefined
}
