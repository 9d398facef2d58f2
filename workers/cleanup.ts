import type { Receiver } from '../modules/webhooks/send.ts'
import { nilId } from '../src/id-format.ts'
import type { Encryption } from '../src/identity/secrets.ts'
import { firstIdAt, newId, nowMs } from '../src/ids.ts'
import type { Sql } from '../src/postgres/database.ts'
import type { Services } from '../src/services.ts'
import { endLostImports, expireImports } from './imports/remove.ts'
import type { Steps } from './run-jobs.ts'
import { forEachPage, purgeRows, SliceEnded, type Throttle, whilePagesAreFull } from './throttle.ts'

export function recurringSteps({ config, database: { background: sql }, encryption }: Services): Steps {
  const steps: Steps = {
    'reseal-secrets': (throttle, after) => reencryptSecrets(sql, encryption, throttle, after),
    'expire-deliveries': (throttle, after) => expireDeliveries(sql, throttle, after),
    'expire-keys': (throttle, after) => expireKeys(sql, config.idempotencyHours, throttle, after),
    'expire-imports': (throttle) => expireImports(sql, throttle),
    'end-lost-imports': (throttle) => endLostImports(sql, throttle),
  }
  for (const table of Object.keys(expiring) as ExpiringTable[])
    steps[`expire-${table}`] = (throttle) => expireRows(sql, table, throttle)
  for (const [name, search] of Object.entries(orphanSearches))
    steps[`find-orphans-${name}`] = async (_, after = nilId) =>
      (await queueOrphanJobs(sql, search, after, searchRows)).last
  const { historyDays } = config
  if (historyDays > 0)
    steps['expire-events'] = (throttle, after) => expireEvents(sql, historyDays, throttle, after)
  return steps
}

/** The indexed time at which the rows of a table expire. */
const expiring = {
  api_tokens: { key: 'id', at: 'expires_at', isOld: 'expires_at < now()' },
  revoked_tokens: { key: 'jti', at: 'expires_at', isOld: 'expires_at < now()' },
  mail_tokens: { key: 'id', at: 'expires_at', isOld: 'expires_at < now()' },
  // The document of a deleted row remains for an hour, so that a slow process does not write an older document.
  search_documents: { key: 'id', at: 'at', isOld: "doc is null and at < now() - interval '1 hour'" },
}
type ExpiringTable = keyof typeof expiring

export const expireRows = (sql: Sql, table: ExpiringTable, throttle: Throttle): Promise<void> =>
  whilePagesAreFull(throttle, async () => {
    const { key, at, isOld } = expiring[table]
    const old = `select ${key} from ${table} where ${isOld} order by ${at} limit $1`
    const statement = `delete from ${table} where ${key} = any(array(${old}))`
    return (await sql.unsafe(statement, [throttle.batchRows])).count
  })

/** Blocks of a table that one statement reads. */
const pageBlocks = 64
/** At most this many runs, one a minute, read the whole table. */
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

/** A search for rows in `table` whose `key` is not the id of a row in `owner`. */
interface OrphanSearch {
  table: string
  key: string
  owner: keyof typeof ofOwner
}

/** The job for a missing owner, and the field of its data that contains the id of the owner. */
const ofOwner = {
  projects: { job: 'purge-project', dataKey: 'projectId' },
  users: { job: 'close-account', dataKey: 'userId' },
}

export const orphanSearches = {
  // The restore of a backup may leave streams without a project.
  streams: { table: 'streams', key: 'project_id', owner: 'projects' },
  // The previous release deletes projects without their documents.
  documents: { table: 'search_cursors', key: 'project_id', owner: 'projects' },
  // A write that was authorized before the deletion of an account may commit after the `close-account` job.
  projects: { table: 'projects', key: 'owner_id', owner: 'users' },
  members: { table: 'members', key: 'user_id', owner: 'users' },
} satisfies Record<string, OrphanSearch>

/** Inserts a job for each missing owner in the page, unless the outbox has such a job, even as a dead letter. */
export async function queueOrphanJobs(sql: Sql, search: OrphanSearch, after: string, rows: number) {
  const { job, dataKey } = ofOwner[search.owner]
  const key = sql(search.key)
  // With `not exists`, Postgres would read the whole table of owners.
  const [page] = await sql<{ rows: number; last: string | null; orphans: string | null }[]>`
    with page as materialized (
      select ${key} as key from ${sql(search.table)} where ${key} > ${after} order by ${key} limit ${rows})
    select count(*)::int4 as rows, (select key from page order by key desc limit 1) as last,
      (select string_agg(distinct key::text, ' ') from page
        where (select id from ${sql(search.owner)} where id = key) is null) as orphans
    from page`
  const orphans = page!.orphans?.split(' ') ?? []
  const ids = orphans.map(() => newId())
  const { count: queued } = await sql`
    insert into outbox (id, project_id, name, data, created_at)
    select id, ${dataKey === 'projectId' ? sql`key` : sql`null::uuid`}, ${job}, jsonb_build_object(${dataKey}::text, key), now()
    from unnest(${ids}::uuid[], ${orphans}::uuid[]) as orphan (id, key)
    where not exists (select from outbox o where o.name = ${job} and o.data->>${dataKey}::text = key::text)`
  return { queued, last: page!.rows === rows ? page!.last! : undefined }
}

const keptMs = 30 * 86_400_000
const searchWebhooks = 500

/** Searches the next page of webhooks. Returns the last webhook id, or undefined after the last page. */
async function expireDeliveries(sql: Sql, throttle: Throttle, after = nilId): Promise<string | undefined> {
  const oldest = firstIdAt(nowMs() - keptMs)
  const page = await sql<{ webhookId: string; isDeleted: boolean; hasOld: boolean }[]>`
    with recursive next as (
      (select webhook_id from webhook_deliveries where webhook_id > ${after} order by webhook_id limit 1)
      union all
      select (select d.webhook_id from webhook_deliveries d where d.webhook_id > next.webhook_id order by d.webhook_id limit 1)
      from next where next.webhook_id is not null),
    page as (select webhook_id from next where webhook_id is not null limit ${searchWebhooks})
    select webhook_id, (select id from webhooks w where w.id = webhook_id) is null as is_deleted,
      (select id < ${oldest}::uuid from webhook_deliveries d where d.webhook_id = page.webhook_id order by id limit 1) as has_old
    from page`
  for (const { webhookId, isDeleted, hasOld } of page) {
    const old = isDeleted ? sql`` : sql`and id < ${oldest}::uuid`
    if (isDeleted || hasOld)
      await purgeRows(sql, 'webhook_deliveries', sql`webhook_id = ${webhookId} ${old}`, throttle)
  }
  return page.length === searchWebhooks ? page.at(-1)!.webhookId : undefined
}

/** After the last page, the operator can keep only the first secret in JWT_SECRET. Returns the last webhook id, or undefined. */
async function reencryptSecrets(sql: Sql, { reencrypt }: Encryption, throttle: Throttle, after = nilId) {
  let last: string | undefined = after
  const reencryptPage = async (from: string) => {
    const rows = await sql<Pick<Receiver, 'id' | 'secret' | 'formerSecret'>[]>`
      select id, secret, former_secret from webhooks where id > ${from} order by id limit ${throttle.batchRows}`
    for (const { id, secret, formerSecret } of rows) {
      const [next, nextFormer] = [reencrypt(secret), formerSecret && reencrypt(formerSecret)]
      if (next !== secret || nextFormer !== formerSecret)
        await sql`update webhooks set secret = ${next}, former_secret = ${nextFormer}
          where id = ${id} and secret = ${secret} and former_secret is not distinct from ${formerSecret}`
    }
    return (last = rows.length === throttle.batchRows ? rows.at(-1)!.id : undefined)
  }
  await forEachPage(throttle, after, reencryptPage).catch((error: unknown) => {
    if (!(error instanceof SliceEnded)) throw error
  })
  return last
}
