import { nilId } from '../src/id-format.ts'
import { newId } from '../src/ids.ts'
import type { Sql } from '../src/postgres/database.ts'
import type { JobName } from './reactions.ts'
import { type Throttle, whilePagesAreFull, forEachPage } from './throttle.ts'

/** @param at an indexed column: the time at which a row expires */
const expiring =
  (table: string, key: string, at: string, condition = 'true') =>
  (sql: Sql, throttle: Throttle, hours = 0): Promise<void> =>
    whilePagesAreFull(throttle, async () => {
      const old = `select ${key} from ${table}
        where ${condition} and ${at} < now() - $1::int4 * interval '1 hour' order by ${at} limit $2`
      const values = [hours, throttle.batchRows]
      return (await sql.unsafe(`delete from ${table} where ${key} = any(array(${old}))`, values)).count
    })

/** Blocks of a table that one statement reads. */
const pageBlocks = 64
/** The steps of at most an hour read the whole table. */
const steps = 60

/**
 * Deletes the expired records in the next part of the table, in its physical order.
 * @param after the first block of this part
 * @returns the first block of the next part; undefined at the end of the table
 */
export async function expireKeys(
  sql: Sql,
  hours: number,
  throttle: Throttle,
  after = '0',
): Promise<string | undefined> {
  const [{ blocks } = { blocks: 0 }] = await sql<{ blocks: number }[]>`
    select (pg_relation_size('idempotency_keys') / current_setting('block_size')::int8)::float8 as blocks`
  const until = Number(after) + Math.max(pageBlocks * 16, Math.ceil(blocks / steps))
  let next = Number(after)
  await forEachPage({ ...throttle, isOver: undefined }, next, async (from) => {
    next = Math.min(from + pageBlocks, until)
    await sql`
      delete from idempotency_keys where ctid >= ${`(${from},0)`}::text::tid and ctid < ${`(${next},0)`}::text::tid
        and created_at < now() - ${hours}::int4 * interval '1 hour'`
    return next < Math.min(until, blocks) && !throttle.isOver?.() ? next : undefined
  })
  return next < blocks ? String(next) : undefined
}

export const expireApiTokens = expiring('api_tokens', 'id', 'expires_at')
export const expireRevokedTokens = expiring('revoked_tokens', 'jti', 'expires_at')
export const expireMailTokens = expiring('mail_tokens', 'id', 'expires_at')
export const expireDocuments = expiring('search_documents', 'id', 'at', 'doc is null')

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

/** Finds rows in `table` whose `key` is not the id of a row in `owner`. The job receives this id as `dataKey`. */
export interface OrphanSearch {
  table: string
  key: string
  owner: string
  job: JobName
  dataKey: 'projectId' | 'userId'
}

/** The restore of a backup may leave streams without a project. */
const projectOrphans = { owner: 'projects', job: 'purge-project', dataKey: 'projectId' } as const
export const orphanStreams: OrphanSearch = { ...projectOrphans, table: 'streams', key: 'project_id' }
/** The previous release deletes projects without their documents. */
export const orphanDocuments: OrphanSearch = { ...projectOrphans, table: 'search_cursors', key: 'project_id' }

// A write that was authorized before the deletion of an account may commit after the `close-account` job.
const accountOrphans = { owner: 'users', job: 'close-account', dataKey: 'userId' } as const
export const orphanProjects: OrphanSearch = { ...accountOrphans, table: 'projects', key: 'owner_id' }
export const orphanMembers: OrphanSearch = { ...accountOrphans, table: 'members', key: 'user_id' }

/** Inserts a job for each missing owner in the page, unless the outbox has such a job, even as a dead letter. */
export async function queueOrphanJobs(sql: Sql, search: OrphanSearch, after: string, rows: number) {
  const key = sql(search.key)
  // With `not exists`, Postgres would read the whole table of owners.
  const [page] = await sql<{ rows: number; last: string | null; orphans: string | null }[]>`
    with page as materialized (
      select ${key} as key from ${sql(search.table)} where ${key} > ${after} order by ${key} limit ${rows})
    select count(*)::int4 as rows, (select key from page order by key desc limit 1) as last,
      (select string_agg(distinct key::text, ' ') from page
        where (select id from ${sql(search.owner)} where id = key) is null) as orphans
    from page`
  const queued = page?.orphans ? await insertJobs(sql, search, page.orphans.split(' ')) : 0
  return { queued, last: page!.rows === rows ? page!.last! : undefined }
}

async function insertJobs(sql: Sql, { job, dataKey }: OrphanSearch, keys: string[]): Promise<number> {
  const ids = keys.map(() => newId())
  const { count } = await sql`
    insert into outbox (id, project_id, name, data, created_at)
    select id, ${dataKey === 'projectId' ? sql`key` : sql`null::uuid`}, ${job}, jsonb_build_object(${dataKey}::text, key), now()
    from unnest(${ids}::uuid[], ${keys}::uuid[]) as orphan (id, key)
    where not exists (select from outbox o where o.name = ${job} and o.data->>${dataKey}::text = key::text)`
  return count
}
